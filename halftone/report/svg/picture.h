// SPDX-License-Identifier: Apache-2.0
// What the pictures of a page share.
#pragma once

#include <cstddef>
#include <string>

namespace halftone::report::svg {

/// The CSS rules of the pictures. Colours are these variables of the page, with those of a light
/// page where it defines none: --text, --muted, --grid (lines of axes), --paper (background),
/// --box (background of boxes), --hue-1 to --hue-6 (data).
std::string picture_style();

/// A text as markup: characters of markup are escaped, and so are invalid UTF-8 and control
/// characters.
std::string markup(const std::string& content);

/// A coordinate or length in pixels, with at most one decimal.
std::string pixels(double value);

/// A value for people: four digits; "∞" and "–" where it is not finite.
std::string value_text(double value);

/// Whether a value can be drawn: finite, and small enough that differences are finite too.
bool is_drawable(double value);

/// Characters of a text in UTF-8.
std::size_t num_characters(const std::string& content);

/// A text of at most `max` characters: "…" replaces the middle of a longer one.
/// @pre max >= 3
std::string shortened(const std::string& content, std::size_t max);

/// The same for the name of a node: of names that were joined with semicolons, as TFLite does when
/// it fuses operators, the first is shown.
std::string short_name(const std::string& name, std::size_t max);

/// A <text> element. Attributes have no quotes where HTML needs none: pages of deep networks have
/// thousands of texts.
/// @param classes  of the style: "end", "mid", "soft", "strong"; empty for none
std::string label(double x, double y, const std::string& classes, const std::string& content);

/// Size and name of a picture.
struct Frame {
  double width;
  double height;
  std::string label;  ///< what a screen reader says
};

/// An <svg> element inside HTML, of its natural size that shrinks with the page.
std::string picture(const Frame& frame, const std::string& content);

/// A picture as a file of its own: XML on white, with the rules of picture_style().
std::string file_of(const std::string& picture);

}  // namespace halftone::report::svg
