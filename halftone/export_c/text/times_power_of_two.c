/* needs: power_of_two */
/* y 2^k, of which only the last step rounds */
static float ht_times_power_of_two(float y, int32_t k) {
  const int32_t half = k >= 0 ? k / 2 : -((1 - k) / 2);
  return y * ht_power_of_two(half) * ht_power_of_two(k - half);
}
