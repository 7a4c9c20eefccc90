// SPDX-License-Identifier: Apache-2.0
// The pictures of a page. Private to this folder.
#pragma once

#include "halftone/report/svg/picture.h"
#include "halftone/report/svg/plot.h"

namespace halftone::report::page {

using svg::Bar;
using svg::bars;
using svg::Frame;
using svg::HistogramPlot;
using svg::is_drawable;
using svg::label;
using svg::markup;
using svg::num_characters;
using svg::picture;
using svg::picture_style;
using svg::pixels;
using svg::plot;
using svg::Plot;
using svg::Point;
using svg::Series;
using svg::short_name;
using svg::shortened;
using svg::value_text;

}  // namespace halftone::report::page
