/* c = forget c + input new, the next cells of an LSTM; without gates of its own, forget is
   1 - input. */
static void ht_lstm_cells_f32(const float *input, const float *forget, const float *new, int32_t n,
                              float *c) {
  for (int32_t i = 0; i < n; ++i) {
    const float kept = (forget ? forget[i] : 1.0f - input[i]) * c[i];
    const float added = input[i] * new[i];
    c[i] = kept + added;
  }
}
