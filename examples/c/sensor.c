// SPDX-License-Identifier: Apache-2.0
// A sensor loop: reads frames of bytes from standard input into one buffer, runs a classifier on
// each, and writes the number of the class, a line for each frame.
//
//     gzip -dc t10k-images-idx3-ubyte.gz | tail -c +17 | sensor model.circle
//
// The network has one float32 input of any shape and one float32 output of a score for each class;
// bytes 0 to 255 become numbers from 0 to 1.
#include <halftone/halftone.h>
#include <stdio.h>
#include <stdlib.h>

// The handles and the memory of the loop, all made before it starts.
typedef struct sensor {
  halftone_context* context;
  halftone_model* model;
  halftone_plan* plan;
  halftone_session* session;
  size_t num_pixels;
  size_t num_classes;
  unsigned char* frame;
  float* pixels;
  float* scores;
} sensor;

static int complain(void) {
  fprintf(stderr, "sensor: %s\n", halftone_error_message());
  return 0;
}

static int is_one_tensor_of_floats(const sensor* s, halftone_tensor_info* in,
                                   halftone_tensor_info* out) {
  if (halftone_plan_num_inputs(s->plan) != 1 || halftone_plan_num_outputs(s->plan) != 1) return 0;
  return halftone_plan_input(s->plan, 0, in) == HALFTONE_OK && in->type == HALFTONE_FLOAT32 &&
         halftone_plan_output(s->plan, 0, out) == HALFTONE_OK && out->type == HALFTONE_FLOAT32;
}

static int start(sensor* s, const char* file) {
  halftone_context_options options = {.struct_bytes = sizeof options, .threads = 1};
  if (halftone_context_create(&options, &s->context) != HALFTONE_OK ||
      halftone_model_load(s->context, file, NULL, &s->model) != HALFTONE_OK ||
      halftone_plan_create(s->model, NULL, &s->plan) != HALFTONE_OK ||
      halftone_session_create(s->plan, &s->session) != HALFTONE_OK) {
    return complain();
  }
  halftone_tensor_info in, out;
  if (!is_one_tensor_of_floats(s, &in, &out)) {
    fprintf(stderr, "sensor: %s: expected one float32 input and one float32 output\n", file);
    return 0;
  }
  s->num_pixels = in.bytes / sizeof(float);
  s->num_classes = out.bytes / sizeof(float);
  s->frame = malloc(s->num_pixels);
  s->pixels = malloc(in.bytes);
  s->scores = malloc(out.bytes);
  if (s->frame == NULL || s->pixels == NULL || s->scores == NULL) {
    fprintf(stderr, "sensor: out of memory\n");
    return 0;
  }
  return 1;
}

static size_t largest(const float* scores, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  return best;
}

// Nothing is allocated and no tensor is copied here.
static int classify_frames(const sensor* s) {
  const halftone_input in = {s->pixels, s->num_pixels * sizeof(float)};
  const halftone_output out = {s->scores, s->num_classes * sizeof(float)};
  while (fread(s->frame, 1, s->num_pixels, stdin) == s->num_pixels) {
    for (size_t i = 0; i < s->num_pixels; ++i) s->pixels[i] = (float)s->frame[i] / 255.0f;
    if (halftone_session_run(s->session, &in, 1, &out, 1) != HALFTONE_OK) return complain();
    printf("%zu\n", largest(s->scores, s->num_classes));
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: sensor MODEL < frames\n");
    return 2;
  }
  sensor s = {0};
  const int ok = start(&s, argv[1]) && classify_frames(&s);
  free(s.scores);
  free(s.pixels);
  free(s.frame);
  halftone_session_destroy(s.session);
  halftone_plan_destroy(s.plan);
  halftone_model_destroy(s.model);
  halftone_context_destroy(s.context);
  return ok ? 0 : 1;
}
