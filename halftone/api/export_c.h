// SPDX-License-Identifier: Apache-2.0
// A network as a folder of C sources, or as a module for browsers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "halftone/api/network.h"
#include "halftone/data/dataset.h"
#include "halftone/types/export_c.hpp"

namespace halftone {

/// Writes the C sources of a network to a folder, all files or none: export_c::export_network().
/// @throws Error as prepared() and export_c::export_network(), with the name of the network, and as
///         write_made_files()
v0::CExport export_c_sources(Network network, const std::filesystem::path& folder,
                             const v0::ExportCOptions& options = {});

/// What the C program of a network takes, without writing it.
/// @throws Error as export_c_sources(), but for files
v0::CExport sizes_as_c(Network network, const v0::ExportCOptions& options = {});

/// A network as a module of WebAssembly.
struct WasmModule {
  std::string bytes;
  std::string script;  ///< the class HalftoneNet, which calls it
  v0::CExport report;  ///< without files
};

/// Compiles the C sources of a network by Clang: the same bits in a browser.
/// @param options  `vectors` and `core` have no meaning
/// @throws Error as export_c_sources(); kUnsupported without clang and wasm-ld; kIo if
///         the folder of temporary files cannot be written
WasmModule wasm_module(Network network, v0::ExportCOptions options = {});

/// A part of a page that runs a network: an element with the id halftone-live shows it, an element
/// with the id halftone-wasm has the module in base64.
struct LiveModule {
  std::string bytes;
  std::string script;
  std::string style;
};

/// @param data  samples that show the numbers of open extents; may be null
/// @throws Error as wasm_module() and with_samples(); kUnsupported if the module has more than
///         kMaxLiveBytes
LiveModule live_module(Network network, const data::Dataset* data);
inline constexpr std::size_t kMaxLiveBytes = std::size_t{16} << 20;

/// Writes NAME.wasm, NAME.js and index.html, which runs the network without a server.
/// @throws Error as wasm_module() and write_made_files()
v0::CExport export_wasm_files(Network network, const std::filesystem::path& folder,
                              const v0::ExportCOptions& options = {});

}  // namespace halftone
