// SPDX-License-Identifier: Apache-2.0
// Answers that are made at once.
#pragma once

#include <string>
#include <string_view>

#include "halftone/server/text_service.h"

namespace halftone::server {

/// {"object": "list", "data": [...]}: the one model.
std::string list_models(TextService& service, std::string_view none);
/// @throws RequestError 404 if it has another name
std::string describe_model(TextService& service, std::string_view name);
/// {"status": "ok"} with what runs and waits. @throws RequestError 503 if the server is about to
/// end
std::string report_health(TextService& service, std::string_view none);
/// In Prometheus' text format.
std::string report_metrics(TextService& service, std::string_view none);
/// {"input": a text, tokens, or a list of these, "model", "dimensions", "encoding_format"} becomes
/// {"object": "list", "data": [{"object": "embedding", "index", "embedding"}], "model", "usage"}.
/// @throws RequestError 400; 404 for another model
std::string embeddings(TextService& service, std::string_view body);
/// {"content": "..."} or {"prompt": "..."}, with "add_special" and "parse_special", becomes
/// {"tokens": [...], "count", "max_model_len"}. @throws RequestError 400
std::string tokenize(TextService& service, std::string_view body);
/// {"tokens": [...]} becomes {"content": "..."}. @throws RequestError 400
std::string detokenize(TextService& service, std::string_view body);

}  // namespace halftone::server
