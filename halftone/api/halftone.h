// SPDX-License-Identifier: Apache-2.0
// Everything that programs use of Halftone.
#pragma once

#include "halftone/api/crossbar.h"
#include "halftone/api/data_source.h"
#include "halftone/api/estimate.h"
#include "halftone/api/evaluate.h"
#include "halftone/api/explore.h"
#include "halftone/api/import_texts.h"
#include "halftone/api/inspection.h"
#include "halftone/api/machine.h"
#include "halftone/api/measure.h"
#include "halftone/api/network.h"
#include "halftone/api/number_systems.h"
#include "halftone/api/quantize.h"
#include "halftone/api/recipe.h"
#include "halftone/api/run.h"
#include "halftone/api/tensor_files.h"
#include "halftone/api/training.h"
