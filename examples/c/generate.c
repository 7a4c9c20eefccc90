// SPDX-License-Identifier: Apache-2.0
// Continues a text with a language model. The text appears as it is written; Ctrl-C stops it.
//
//     generate "Once upon a time" model.gguf
//     generate "Once upon a time" stories260K.bin tok512.bin
#include <halftone/language.h>
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t is_stopped = 0;

static void stop(int number) {
  (void)number;
  is_stopped = 1;
}

static int print(void* user, int32_t token, const char* text, size_t bytes) {
  (void)user;
  (void)token;
  fwrite(text, 1, bytes, stdout);
  fflush(stdout);
  return is_stopped;
}

static int complain(void) {
  fprintf(stderr, "generate: %s\n", halftone_error_message());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: generate PROMPT MODEL [TOKENIZER]\n");
    return 2;
  }
  signal(SIGINT, stop);
  halftone_context* context = NULL;
  halftone_language_model* model = NULL;
  const halftone_language_options open = {.struct_bytes = sizeof open,
                                          .tokenizer = argc == 4 ? argv[3] : NULL};
  if (halftone_context_create(NULL, &context) != HALFTONE_OK ||
      halftone_language_model_load(context, argv[2], &open, &model) != HALFTONE_OK) {
    return complain();
  }
  const halftone_generate_options options = {
      .struct_bytes = sizeof options, .max_tokens = 64, .on_token = print};
  halftone_generation result = {.struct_bytes = sizeof result};
  if (halftone_language_model_generate(model, argv[1], &options, &result) != HALFTONE_OK) {
    return complain();
  }
  printf("\n");
  fprintf(stderr, "%zu tokens in %.2f s, ended by: %s\n", result.num_tokens,
          result.first_seconds + result.generate_seconds, halftone_end_name(result.end));
  halftone_language_model_destroy(model);
  halftone_context_destroy(context);
  return 0;
}
