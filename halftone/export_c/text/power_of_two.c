/* 2^k for -127 < k < 128 */
static float ht_power_of_two(int32_t k) {
  const uint32_t bits = (uint32_t)(k + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return power;
}
