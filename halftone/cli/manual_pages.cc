// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/manual_pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace halftone::cli {
namespace {

/// Text as roff takes it: no character of it is a request, an escape or typographic.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '^':
        out += "\\(ha";
        break;
      default:
        out += c;
    }
  }
  // Only at the beginning of a line is a full stop a request.
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// "-o, --output FILE", or "model".
std::string heading(const OptionText& option) {
  if (!option.is_option) return italic(option.names.front());
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (!option.value.empty()) text += " " + italic(option.value);
  return text;
}

/// The description, and what holds of the value.
std::string paragraph(const OptionText& option) {
  std::string text = escaped(option.description);
  const auto add = [&](const std::string& sentence) { text += ".\n" + sentence; };
  if (!option.default_value.empty()) add("Default: " + escaped(option.default_value));
  if (option.is_required) add("Required");
  if (!option.needs.empty()) {
    add("Needs " + bold(fmt::format("{}", fmt::join(option.needs, ", "))));
  }
  return text + ".\n";
}

std::string head(const std::string& name, const std::string& description,
                 std::string_view version) {
  return fmt::format(
      ".\\\" Written by halftone --man-pages.\n"
      ".TH {} 1 \"{}\" \"halftone {}\" \"User Commands\"\n"
      ".nh\n"  // no hyphens in the names of verbs
      ".SH NAME\n{} \\- {}\n",
      upper(escaped(name)), HALFTONE_VERSION_DATE, version, escaped(name), escaped(description));
}

std::string synopsis(const VerbText& verb) {
  std::string text = ".SH SYNOPSIS\n" + bold("halftone " + verb.name);
  for (const OptionText& option : verb.options) {
    if (option.is_option && !option.is_required) continue;
    const std::string name = option.is_option
                                 ? bold(option.names.front()) + " " + italic(option.value)
                                 : italic(option.names.front());
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  return text + " [" + italic("options") + "]\n";
}

std::string section(std::string_view title, const VerbText& verb, bool are_options) {
  std::string text;
  for (const OptionText& option : verb.options) {
    if (option.is_option != are_options) continue;
    text += ".TP\n" + heading(option) + "\n" + paragraph(option);
  }
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string examples(const VerbText& verb) {
  if (verb.examples.empty()) return "";
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : verb.examples) text += escaped(example) + "\n";
  return text + ".fi\n";
}

std::string page_name(const VerbText& verb) { return "halftone-" + verb.name; }

std::string see_also(const std::vector<VerbText>& verbs) {
  std::vector<std::string> pages;
  for (const VerbText& verb : verbs) pages.push_back(bold(page_name(verb)) + "(1)");
  return fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ",\n"));
}

ManualPage verb_page(const VerbText& verb, std::string_view version) {
  const std::string name = page_name(verb);
  return {name + ".1", head(name, verb.description, version) + synopsis(verb) +
                           ".SH DESCRIPTION\n" + escaped(verb.description) + ".\n" +
                           section("ARGUMENTS", verb, false) + section("OPTIONS", verb, true) +
                           examples(verb) + ".SH SEE ALSO\n" + bold("halftone") + "(1)\n"};
}

ManualPage program_page(const ProgramText& text, std::string_view version) {
  const VerbText& program = text.program;
  constexpr std::string_view kName = "Halftone: ";
  std::string about = program.description;
  if (about.starts_with(kName)) about.erase(0, kName.size());
  std::string page = head("halftone", about, version);
  page += fmt::format(".SH SYNOPSIS\n{} {} [{}]\n.br\n{} [{}]\n", bold("halftone"), italic("verb"),
                      italic("options"), bold("halftone"), italic("options"));
  page += ".SH DESCRIPTION\n" + escaped(program.description) + ".\n.SH VERBS\n";
  for (const VerbText& verb : text.verbs) {
    page += fmt::format(".TP\n{}\n{}.\nSee {}(1).\n", bold(verb.name), escaped(verb.description),
                        bold(page_name(verb)));
  }
  return {"halftone.1", page + section("OPTIONS", program, true) + see_also(text.verbs)};
}

}  // namespace

std::vector<ManualPage> manual_pages(const ProgramText& text, std::string_view version) {
  std::vector<ManualPage> pages{program_page(text, version)};
  for (const VerbText& verb : text.verbs) pages.push_back(verb_page(verb, version));
  return pages;
}

}  // namespace halftone::cli
