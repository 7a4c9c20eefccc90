// SPDX-License-Identifier: Apache-2.0
// Parts of the page about a language model. Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "halftone/report/json.h"
#include "halftone/report/page/language_page.h"

namespace halftone::report::page {

/// The type of a matrix as options name it: "2x6" of "vector 2x6".
std::string type_choice(const MatrixFigures& matrix);
/// The loss of a matrix in the type that it has, if the table has both.
std::optional<double> loss_in_own_type(const SensitivityTable& table, const MatrixFigures& matrix);
/// The first table that has the losses of matrices in their own types for at least half of the
/// bytes, or null.
const SensitivityTable* table_of_types(const LanguageContent& content);
/// "20100", "34.5"
std::string speed_text(double per_second);

// Sections, each empty if there is nothing to show.

/// Loss and divergence by position in the windows of a text.
std::string positions_section(const LanguageReport& report);
/// The tokens whose prediction changed most.
std::string changed_section(const LanguageReport& report);
/// The types of all matrices, by block and role.
std::string types_section(const LanguageContent& content);
/// The keys "positions" and "changed" of a text.
Json details_json(const TextDetails& details);

}  // namespace halftone::report::page
