// SPDX-License-Identifier: Apache-2.0
/// @file
/// The page about a language model in C. Link libhalftone.
#pragma once

#include <halftone/language.h>

#ifdef __cplusplus
extern "C" {
#endif

/** For halftone_language_page_create(). */
typedef struct halftone_language_page_options {
  size_t struct_bytes;      /**< sizeof(halftone_language_page_options), set by the caller */
  const char* const* texts; /**< [num_texts] files in UTF-8, to measure the model on */
  size_t num_texts;         /**< number of them; may be 0 */
  const char* reference;    /**< a model to compare with on them; NULL: none */
  const char* tokenizer;    /**< a file, for a model of llama2.c; else NULL */
  int times;                /**< nonzero: measures how fast it writes on this machine */
  size_t window;            /**< tokens of a window of a text, at least 2; 0: 512 */
  size_t max_windows;       /**< of each text, at most; 0: all */
  const halftone_language_losses* losses; /**< of halftone_language_sensitivity(), for what each
                                               matrix loses in each type; NULL: without */
  int (*progress)(void* user, double fraction); /**< may be NULL */
  void* user;                                   /**< for progress() */
} halftone_language_page_options;

/** A page about a language model. */
typedef struct halftone_language_page halftone_language_page;

/** Makes the page of `halftone report` of a language model: what it is, its matrices with their
 *  types, bits and bytes, and perplexity and divergence on texts.
 *  @param model    a GGUF file, a folder of Hugging Face, Halftone's own file or a *.bin file of
 *                  llama2.c
 *  @param options  NULL: the model alone
 *  @param page     set to a new handle
 *  @return HALFTONE_USAGE for a reference without a text, or one that has other tokens for it;
 *          HALFTONE_INTERRUPTED if progress() ended it; HALFTONE_IO, HALFTONE_FORMAT,
 *          HALFTONE_UNSUPPORTED, HALFTONE_MEMORY as halftone_language_model_load() */
HALFTONE_API halftone_status halftone_language_page_create(
    const halftone_context* context, const char* model,
    const halftone_language_page_options* options, halftone_language_page** page) HALFTONE_NOEXCEPT;
/** Ends a handle; NULL does nothing. */
HALFTONE_API void halftone_language_page_destroy(halftone_language_page* page) HALFTONE_NOEXCEPT;
/** One file in HTML that needs no other and makes no request; NULL for NULL. */
HALFTONE_API const char* halftone_language_page_html(const halftone_language_page* page)
    HALFTONE_NOEXCEPT;
/** The numbers of the page, with the keys of `halftone report --json`; NULL for NULL. */
HALFTONE_API const char* halftone_language_page_json(const halftone_language_page* page)
    HALFTONE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
