// SPDX-License-Identifier: Apache-2.0
// A network as a folder of C sources.
#pragma once

#include <filesystem>

#include "halftone/api/network.h"
#include "halftone/types/export_c.hpp"

namespace halftone {

/// Writes the C sources of a network to a folder, all files or none: export_c::export_network().
/// Creates the folder if it is missing. Files of an earlier export are replaced.
/// @throws Error as prepared() and export_c::export_network(), with the name of the network; kUsage
///         if the folder has files, none of them by an earlier export, or if a file to write was
///         not made by one; kIo if it cannot be written
v0::CExport export_c_sources(Network network, const std::filesystem::path& folder,
                             const v0::ExportCOptions& options = {});

}  // namespace halftone
