// SPDX-License-Identifier: Apache-2.0
// The tensors of a GGUF file of a model that comes from other files.
#pragma once

#include <vector>

#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/new_gguf.h"
#include "halftone/lm/quantize/fit_model.h"
#include "halftone/lm/quantize/folding.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone::lm {

/// The tensors of new_gguf_places() in their order, and new_gguf_divisors() and
/// new_gguf_unread() behind them. Fitted matrices have their codes, or the float32 that these
/// represent in the basis of the model. Other matrices stay in their type if it is F32, F16 or
/// BF16, so that no number changes. Norms, biases, routers and tables of positions are F32, as
/// llama.cpp needs them, and so is what the model's files have in another order or type.
/// @param folding, fitted  must outlive the tensors; for codes without rotations
/// @throws Error kUsage if a tensor holds matrices of which not all are fitted, or, for codes, to
///         several types or one that GGUF does not have
std::vector<formats::NewGgufTensor> new_gguf_tensors(const Folding& folding,
                                                     const FittedMatrices& fitted, FittedForm form);

/// Bytes of a tensor of new_gguf_places() whose parts are not fitted.
std::size_t unfitted_bytes(const ModelParts& model, const NewGgufPlace& place);

}  // namespace halftone::lm
