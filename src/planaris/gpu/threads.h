// Blocks of threads on a GPU or, with PLANARIS_HOST, one thread after the other between barriers.
typedef unsigned long long Index;

#ifdef PLANARIS_HOST
#define DEVICE static inline
#define KERNEL static
#define PARAMETER(type, name) const type& name
#define EACH_THREAD for (int tid = 0; tid < THREADS; ++tid) {
#define END_EACH }
#define OWN(name) name[THREADS]
#define MY(name) name[tid]
#define BARRIER
#define ADD(target, value) (*(target) += (value))
static struct { int x; } blockIdx, gridDim;
static double shared[1 << 18];
#else
#define DEVICE __device__ __forceinline__
#ifndef RESIDENT
#define RESIDENT 1  // blocks that share a multiprocessor, at least
#endif
#define KERNEL extern "C" __global__ __launch_bounds__(THREADS, RESIDENT)
#define PARAMETER(type, name) const __grid_constant__ type name
#define EACH_THREAD { const int tid = threadIdx.x;
#define END_EACH } __syncthreads();
#define OWN(name) name
#define MY(name) name
#define BARRIER __syncthreads()
#define ADD(target, value) atomicAdd((Index*)(target), (Index)(value))
extern __shared__ double shared[];
#endif
