// SPDX-License-Identifier: Apache-2.0
/// @file
/// Vectors of texts in C, by which similar ones are found. Link libhalftone.
#pragma once

#include <halftone/language.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Numbers of a vector of halftone_language_model_embed().
 *  @return HALFTONE_UNSUPPORTED if the model gives none */
HALFTONE_API halftone_status halftone_language_model_embedding_width(
    halftone_language_model* model, size_t* width) HALFTONE_NOEXCEPT;
/** Vectors of texts, each of length 1: the mean of the hidden rows behind the final norm, or the
 * row of the first or the last token where the files say so. Each is the same whatever the others
 * are.
 *  @param texts    [num_texts] in UTF-8
 *  @param vectors  float32 [num_texts, d], where d is at most the width: the first d numbers, of
 *                  length 1 again
 *  @return HALFTONE_USAGE if a text has more tokens than the context, or none; HALFTONE_SHAPE if
 *          the size of the vectors is another one; HALFTONE_FORMAT if a text is not UTF-8 */
HALFTONE_API halftone_status
halftone_language_model_embed(halftone_language_model* model, const char* const* texts,
                              size_t num_texts, const halftone_output* vectors) HALFTONE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
