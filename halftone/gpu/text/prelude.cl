// One text for OpenCL C 1.2 and CUDA C++: what they spell differently.
#ifdef __CUDACC_RTC__
#define KERNEL extern "C" __global__ void
#define FUNC __device__ static __forceinline__
#define GLOBAL
#define SHARED __shared__
#define TO_SHARED
#define CONSTANT __constant__ const
#define BARRIER() __syncthreads()
#define LOCAL_ID() threadIdx.x
#define LOCAL_SIZE() blockDim.x
#define GROUP_X() blockIdx.x
#define GROUP_Y() blockIdx.y
#define BITS_OF(x) __float_as_uint(x)
#define FLOAT_OF(x) __uint_as_float(x)
#define ROUND(x) rintf(x)
#define MAGNITUDE(x) fabsf(x)
#define COUNT_BITS(x) __popc(x)
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef signed char schar;
typedef long long integer64;
// The sum of the products of four int8 numbers each.
FUNC int dot4(int a, int b, int sum) { return __dp4a(a, b, sum); }
FUNC float load_half(const ushort* p, uint i) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(p[i]));
  return x;
}
FUNC void store_half(ushort* p, uint i, float x) {
  ushort bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  p[i] = bits;
}
#else
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel void
// PoCL 3.1 shares the state of functions that it does not inline between its threads.
#define FUNC __attribute__((always_inline)) static inline
#define GLOBAL __global
#define SHARED __local
#define TO_SHARED __local
#define CONSTANT __constant
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LOCAL_ID() ((uint)get_local_id(0))
#define LOCAL_SIZE() ((uint)get_local_size(0))
#define GROUP_X() ((uint)get_group_id(0))
#define GROUP_Y() ((uint)get_group_id(1))
#define BITS_OF(x) as_uint(x)
#define FLOAT_OF(x) as_float(x)
#define ROUND(x) rint(x)
#define MAGNITUDE(x) fabs(x)
#define COUNT_BITS(x) popcount(x)
typedef char schar;
typedef long integer64;
FUNC int dot4(int a, int b, int sum) {
  char4 x = as_char4(a), y = as_char4(b);
  return sum + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
FUNC float load_half(GLOBAL const ushort* p, uint i) {
  return vload_half(i, (GLOBAL const half*)p);
}
FUNC void store_half(GLOBAL ushort* p, uint i, float x) {
  vstore_half_rte(x, i, (GLOBAL half*)p);
}
#endif

// A quotient of floats, rounded. That of doubles, rounded twice, is the same.
FUNC float divided(float a, float b) {
#ifdef DIVIDES_IN_DOUBLE
  return (float)((double)a / (double)b);
#else
  return a / b;
#endif
}

#define QUIET_NAN FLOAT_OF(0x7FC00000u)
#define INFINITE FLOAT_OF(0x7F800000u)
FUNC int is_nan(float x) { return (BITS_OF(x) & 0x7FFFFFFFu) > 0x7F800000u; }
FUNC int is_finite(float x) { return (BITS_OF(x) & 0x7F800000u) != 0x7F800000u; }
// No kernel may have the name of a function of OpenCL C, such as normalize or rotate.
