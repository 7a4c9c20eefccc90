// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/response_answer.h"

#include <utility>

namespace halftone::server {
namespace {

Json usage_of(const RunningCompletion& running) {
  return {{"input_tokens", running.prompt_tokens()},
          {"input_tokens_details", {{"cached_tokens", running.reused_tokens()}}},
          {"output_tokens", running.written_tokens()},
          {"output_tokens_details", {{"reasoning_tokens", 0}}},
          {"total_tokens", running.prompt_tokens() + running.written_tokens()}};
}

}  // namespace

ResponseAnswer::ResponseAnswer(AnswerHead head, const CompletionRequest& request,
                               const lm::Tokenizer& tokenizer, const lm::ToolNotation* notation)
    : head_(std::move(head)), request_(request), tokenizer_(tokenizer) {
  if (notation == nullptr) return;
  reader_.emplace(*notation, request.tools.functions, request.tools.is_required);
}

std::string ResponseAnswer::id_of_item(const char* kind) const {
  return kind + head_.id.substr(head_.id.find('_')) + "-" + std::to_string(items_.size());
}

std::string ResponseAnswer::event(const char* type, const Json& members) {
  Json json = {{"type", type}, {"sequence_number", num_events_++}};
  json.update(members);
  return std::string("event: ") + type + "\ndata: " + dump(json) + "\n\n";
}

std::string ResponseAnswer::item_event(const char* type, const char* name, Json value) {
  Json members = {{"item_id", items_.back()["id"]}, {"output_index", items_.size() - 1}};
  if (items_.back()["type"] == "message") members["content_index"] = 0;
  members[name] = std::move(value);
  return event(type, members);
}

std::string ResponseAnswer::begin(const RunningCompletion& /*running*/) {
  const Json empty = {{"response", response("in_progress", nullptr)}};
  std::string events = event("response.created", empty);
  return events += event("response.in_progress", empty);
}

std::string ResponseAnswer::open_message() {
  is_open_ = true;
  const Json part = {{"type", "output_text"},
                     {"text", ""},
                     {"annotations", Json::array()},
                     {"logprobs", Json::array()}};
  items_.push_back({{"type", "message"},
                    {"id", id_of_item("msg")},
                    {"status", "in_progress"},
                    {"role", "assistant"},
                    {"content", Json::array()}});
  std::string text = event("response.output_item.added",
                           {{"output_index", items_.size() - 1}, {"item", items_.back()}});
  text += item_event("response.content_part.added", "part", part);
  items_.back()["content"].push_back(part);
  return text;
}

std::string ResponseAnswer::add_text(const std::string& text) {
  std::string events = is_open_ ? "" : open_message();
  Json& part = items_.back()["content"][0];
  part["text"].get_ref<std::string&>() += text;
  Json scores = logprobs_json(std::exchange(tokens_, {}), tokenizer_);
  part["logprobs"].insert(part["logprobs"].end(), scores.begin(), scores.end());
  const Json members = {{"item_id", items_.back()["id"]},
                        {"output_index", items_.size() - 1},
                        {"content_index", 0},
                        {"delta", text},
                        {"logprobs", std::move(scores)}};
  return events + event("response.output_text.delta", members);
}

std::string ResponseAnswer::close_message() {
  if (!is_open_) return "";
  is_open_ = false;
  items_.back()["status"] = is_whole_ ? "completed" : "incomplete";
  const Json& part = items_.back()["content"][0];
  const Json members = {{"item_id", items_.back()["id"]},
                        {"output_index", items_.size() - 1},
                        {"content_index", 0},
                        {"text", part["text"]},
                        {"logprobs", part["logprobs"]}};
  std::string events = event("response.output_text.done", members);
  events += item_event("response.content_part.done", "part", part);
  return events += event("response.output_item.done",
                         {{"output_index", items_.size() - 1}, {"item", items_.back()}});
}

std::string ResponseAnswer::add_call(const lm::ToolCall& call) {
  std::string events = close_message();
  tokens_.clear();  // an item of a call has no probabilities
  const std::string id = call.id.empty() ? id_of_call(head_.id, 0, num_calls_) : call.id;
  ++num_calls_;
  items_.push_back({{"type", "function_call"},
                    {"id", id_of_item("fc")},
                    {"call_id", id},
                    {"name", call.name},
                    {"arguments", ""},
                    {"status", "in_progress"}});
  Json& item = items_.back();
  events +=
      event("response.output_item.added", {{"output_index", items_.size() - 1}, {"item", item}});
  events += item_event("response.function_call_arguments.delta", "delta", call.arguments);
  events += item_event("response.function_call_arguments.done", "arguments", call.arguments);
  item["arguments"] = call.arguments;
  item["status"] = "completed";
  return events +
         event("response.output_item.done", {{"output_index", items_.size() - 1}, {"item", item}});
}

std::string ResponseAnswer::add_items(const ChoiceEvent& event) {
  if (event.result) is_whole_ = ends_by_itself(event.result->generation.end);
  if (event.token) tokens_.push_back(*event.token);
  const lm::ToolText text = read(reader_, event);
  std::string events;
  if (!text.content.empty()) events += add_text(text.content);
  for (const lm::ToolCall& call : text.calls) events += add_call(call);
  if (!event.result) return events;
  // Even an answer without a text has a message.
  if (items_.empty()) events += open_message();
  if (is_open_ && !tokens_.empty()) events += add_text("");
  return events + close_message();
}

std::string ResponseAnswer::more(const ChoiceEvent& from, const RunningCompletion& running) {
  std::string events = add_items(from);
  if (!running.has_ended()) return events;
  return events + event(is_whole_ ? "response.completed" : "response.incomplete",
                        {{"response", whole(running)}});
}

std::string ResponseAnswer::failure(const RequestError& error) {
  Json failed = response("failed", nullptr);
  failed["error"] = {{"code", "server_error"}, {"message", error.what()}};
  std::string events =
      event("error", {{"code", error.code()}, {"message", error.what()}, {"param", nullptr}});
  return events += event("response.failed", {{"response", std::move(failed)}});
}

Json ResponseAnswer::response(const char* status, const RunningCompletion* running) const {
  Json json = {{"id", head_.id},
               {"object", "response"},
               {"created_at", head_.created},
               {"status", status},
               {"error", nullptr},
               {"incomplete_details", nullptr},
               {"model", head_.model},
               {"output", items_},
               {"temperature", request_.options.sampling.temperature},
               {"top_p", request_.options.sampling.top_p}};
  json.update(Json::parse(request_.repeated));
  json["usage"] = running == nullptr ? Json() : usage_of(*running);
  return json;
}

Json ResponseAnswer::whole(const RunningCompletion& running) const {
  Json json = response(is_whole_ ? "completed" : "incomplete", &running);
  if (!is_whole_) json["incomplete_details"] = {{"reason", "max_output_tokens"}};
  return json;
}

}  // namespace halftone::server
