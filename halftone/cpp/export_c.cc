// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c.hpp"

#include "halftone/api/export_c.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

CExport export_c(const Model& model, const std::filesystem::path& folder,
                 const ExportCOptions& options) {
  return at_border([&] { return export_c_sources(Internals::network(model), folder, options); });
}

CExport export_wasm(const Model& model, const std::filesystem::path& folder,
                    const ExportCOptions& options) {
  return at_border([&] { return export_wasm_files(Internals::network(model), folder, options); });
}

}  // namespace halftone::v0
