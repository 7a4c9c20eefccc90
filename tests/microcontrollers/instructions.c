// SPDX-License-Identifier: Apache-2.0
// Linked with a program by scripts/microcontrollers.sh: instructions() counts what QEMU has run, and
// the end of main() prints the sum. With -icount shift=10 an instruction takes 1024 ns of emulated
// time, which every timer shows.
#include <stdint.h>
#include <stdio.h>

#ifdef __riscv

static uint64_t nanoseconds(void) {
  uint32_t high, low, again;
  do {
    __asm__ volatile(".option arch, +zicsr\n csrr %0, mcycleh\n csrr %1, mcycle\n csrr %2, mcycleh"
                     : "=r"(high), "=r"(low), "=r"(again));
  } while (high != again);
  return (uint64_t)high << 32 | low;
}

static void start(void) {}

#else

// SysTick counts down 24 bits at the processor's clock. CLOCK_PS is its period.
static volatile uint32_t* const systick = (volatile uint32_t*)0xE000E010u;
static volatile uint32_t wraps;

void arm_systick_isr(void);
void arm_systick_isr(void) { ++wraps; }

static void start(void) {
  systick[1] = 0xFFFFFFu;
  systick[2] = 0;
  systick[0] = 7;
}

static uint64_t nanoseconds(void) {
  uint32_t before, value;
  do {
    before = wraps;
    value = systick[2];
  } while (before != wraps);
  return (((uint64_t)before << 24) + (0xFFFFFFu - value)) * CLOCK_PS / 1000;
}

#endif

uint32_t instructions(void);
uint32_t instructions(void) { return (uint32_t)(nanoseconds() >> 10); }

int __real_main(void);
int __wrap_main(void);
int __wrap_main(void) {
  start();
  uint32_t begin = instructions();
  int status = __real_main();
  printf("instructions %lu\n", (unsigned long)(instructions() - begin));
  return status;
}
