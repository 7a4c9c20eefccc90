// SPDX-License-Identifier: Apache-2.0
// Voltage drops along the wires of an array: the exact solution of its network of resistors.
#pragma once

#include <vector>

#include "halftone/base/view.h"

namespace halftone::crossbar {

/// The currents of an array are linear in the voltages of its rows: I_j = sum_i E_ij V_i. This is
/// E, the conductances that an array with ideal wires would need for the same currents.
///
///     V_i --r-- o --r-- o --r-- o          row wires: o is a node above a cell
///               |       |       |          cells: from a node of the row to one of the column
///               o       o       o
///               r       r       r          column wires, downwards to the next row
///               |       |       |
///              ...     ...     ...  --r-- ground, after the last row
///
/// Kirchhoff's current law at the 2 rows cols nodes gives a symmetric positive definite system
/// A u = b, which is factorised once (sparse L D L', fill-reducing order) and solved for each row
/// or each column, whichever are fewer: with w = 1 / r, E_ij = w^2 (A^-1)_(last node of column j,
/// first node of row i).
/// @param conductances  [rows, cols], siemens, >= 0
/// @param segment_ohms  r >= 0, of each wire between neighbouring nodes, of that from the driver to
///                      the first cell and of that from the last cell to the converter; 0 gives the
///                      conductances as they are
/// @return              [rows * cols], siemens
/// @throws Error kUnsupported if the system cannot be solved in float64
std::vector<double> with_wires(MatrixView<const double> conductances, double segment_ohms);

}  // namespace halftone::crossbar
