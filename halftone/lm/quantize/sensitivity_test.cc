#include "halftone/lm/quantize/sensitivity.h"
