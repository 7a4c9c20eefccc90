// SPDX-License-Identifier: Apache-2.0
// A network as one custom operator, which LiteRT with our delegate hands to Halftone whole: layers
// are merged, and codes stay codes between them.
#pragma once

#include <optional>

#include "halftone/base/shared_bytes.h"
#include "halftone/formats/circle/file_model.h"

namespace halftone::formats::circle {

/// The file of the network in a file that has it as one operator, kNetworkName; nullopt for other
/// files. The bytes are valid as long as the file.
/// @throws Error kFormat if it has other operators than those of states beside it, or if the
///         network in it is again one operator
std::optional<SharedBytes> network_in(const FileModel& file);

}  // namespace halftone::formats::circle
