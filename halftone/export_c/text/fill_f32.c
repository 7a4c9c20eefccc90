static void ht_fill_f32(float *y, int32_t n, float number) {
  for (int32_t i = 0; i < n; ++i) y[i] = number;
}
