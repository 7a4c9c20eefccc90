// SPDX-License-Identifier: Apache-2.0
// The whole C++ API: load, run, quantize, measure, evaluate, distill, described hardware, language
// models. Link Halftone::compress, or Halftone::train, which has the same and the functions of
// train.hpp and language_distill.hpp.
// Programs that only run networks or language models may link Halftone::runtime and include
// halftone.h or language.h, the C API.
//
// Errors are exceptions of class Error. Functions may be called on any thread; objects that are not
// const, on one at a time.
#pragma once

#include "halftone/data.hpp"
#include "halftone/devices.hpp"
#include "halftone/error.hpp"
#include "halftone/evaluate.hpp"
#include "halftone/export_c.hpp"
#include "halftone/hardware.hpp"
#include "halftone/language.hpp"
#include "halftone/language_distill.hpp"
#include "halftone/language_quantize.hpp"
#include "halftone/model.hpp"
#include "halftone/number_systems.hpp"
#include "halftone/options.hpp"
#include "halftone/presets.hpp"
#include "halftone/quantize.hpp"
#include "halftone/recipe.hpp"
#include "halftone/report.hpp"
#include "halftone/run.hpp"
#include "halftone/sensitivity.hpp"
#include "halftone/tensor.hpp"
#include "halftone/train.hpp"
