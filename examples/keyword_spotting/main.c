// SPDX-License-Identifier: Apache-2.0
// Says which word it hears in each clip.
#include <stdio.h>
#include <string.h>

#include "clips.h"
#include "net.h"

static const char* const words[NET_OUTPUT_0_SIZE] = {
    "down", "go",   "left", "no",  "off",         "on",
    "right", "stop", "up",   "yes", "(silence)", "(another word)"};

static int largest(const float* x) {
  int best = 0;
  for (int i = 1; i < NET_OUTPUT_0_SIZE; ++i) {
    if (x[i] > x[best]) best = i;
  }
  return best;
}

int main(void) {
  static net_state net;
  for (int c = 0; c < NUM_CLIPS; ++c) {
    memcpy(net_input_0(&net), clips[c], sizeof clips[c]);
    net_run(&net);
    printf("spoken: %s, heard: %s\n", words[spoken[c]], words[largest(net_output_0(&net))]);
  }
  return 0;
}
