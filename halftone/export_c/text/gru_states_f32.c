/* h = (1 - z) n + z h, the next states of a GRU */
static void ht_gru_states_f32(const float *z, const float *new, int32_t n, float *h) {
  for (int32_t i = 0; i < n; ++i) {
    const float old = z[i] * h[i];
    h[i] = (1.0f - z[i]) * new[i] + old;
  }
}
