// SPDX-License-Identifier: Apache-2.0
// Networks as C sources for microcontrollers, and as modules for browsers.
#pragma once

#include <filesystem>

#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/types/export_c.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// Writes a network to a folder as C99 that needs nothing, with the bits of a run here (layers of
  /// float32 in Execution::fixed_order), and a program that compares them. All files are written or
  /// none; those of an earlier export are replaced. The same network and options give the same
  /// bytes.
  /// @param folder  is created if it is missing
  /// @throws Error kUnsupported for an operator that C has no kernel for, or if the arena is larger
  ///         than allowed; kUsage if the name is no C identifier, `vectors` out of range or `core`
  ///         unknown, if the folder has files and none by an earlier export, or one of those to
  ///         write was not made by one; kIo if it cannot be written
  HALFTONE_CPP_API CExport export_c(const Model& model, const std::filesystem::path& folder,
                                    const ExportCOptions& options = {});

  /// Writes a network to a folder as a module of WebAssembly, compiled of the same C by Clang:
  /// NAME.wasm, NAME.js, whose class HalftoneNet calls it, and index.html, a page that runs it. The
  /// same bits as export_c(), in a browser.
  /// @param options  `vectors` and `core` have no meaning
  /// @throws Error as export_c(); kUnsupported if there is no clang or no wasm-ld
  HALFTONE_CPP_API CExport export_wasm(const Model& model, const std::filesystem::path& folder,
                                       const ExportCOptions& options = {});

}  // namespace v0
}  // namespace halftone
