// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/template.h"

#include "halftone/lm/chat/jinja/interpreter.h"
#include "halftone/lm/chat/jinja/parser.h"

namespace halftone::lm::jinja {

Template::Template(std::string_view source)
    : statements_(std::make_shared<const std::vector<Statement>>(parse(source))) {}

Text Template::render(const Variables& variables, const std::tm& now) const {
  return Interpreter(variables, now).run(*statements_);
}

}  // namespace halftone::lm::jinja
