// One thread drives one scene for `steps` steps and keeps its state in registers.

constexpr float DT = 0.05f, WHEELBASE = 2.8f, DESIRED = 20.0f, HEADWAY = 1.2f, STANDSTILL = 2.0f, ACCEL = 1.5f;
constexpr float TWICE_ROOT = 3.4641016f, HARDEST = 8.0f;  // 2 √(ACCEL · comfortable braking of 2 m/s²)
enum { FREE, FOLLOW, BRAKE, CUT_IN };

// --8<-- [start:step]
struct Scenes {
    const float *v, *y, *psi, *curvature, *gap, *lead_v, *hardness;
    const int *enters, *brakes, *kind;
};

struct Results {
    float *s, *y, *v, *gap;
    int* hit;
};

struct Car {
    float s, y, psi, v;
};

__device__ float free_road(float v) {
    float share = v / DESIRED;
    return ACCEL * (1 - share * share * share * share);
}

__device__ float idm(float v, float gap, float lead_v) {
    float wanted = STANDSTILL + fmaxf(0, v * HEADWAY + v * (v - lead_v) / TWICE_ROOT);
    float ratio = wanted / fmaxf(gap, 0.1f);
    return fmaxf(-HARDEST, free_road(v) - ACCEL * ratio * ratio);
}

__device__ void move(Car& car, float accel, float curvature) {
    float steer = fminf(0.5f, fmaxf(-0.5f, WHEELBASE * curvature - 0.02f * car.y - 0.4f * car.psi));
    car.v = fmaxf(0, car.v + accel * DT);
    car.s += car.v * cosf(car.psi) * DT;
    car.y += car.v * sinf(car.psi) * DT;
    car.psi += car.v * (tanf(steer) / WHEELBASE - curvature) * DT;
}
// --8<-- [end:step]

__device__ void write(Results out, int i, Car car, float least, int hit) {
    out.s[i] = car.s;
    out.y[i] = car.y;
    out.v[i] = car.v;
    out.gap[i] = least;
    out.hit[i] = hit;
}

// --8<-- [start:branches]
// A case per kind of scene: lanes of one warp that have different kinds take turns.
__device__ void by_kind(Results out, Scenes in, int steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Car car = {0, in.y[i], in.psi[i], in.v[i]};
    float curvature = in.curvature[i], lead = in.gap[i], lead_v = in.lead_v[i], hardness = in.hardness[i];
    float least = 1000;
    int hit = -1, enters = in.enters[i], brakes = in.brakes[i], kind = in.kind[i];
    for (int t = 0; t < steps; ++t) {
        float accel = 0;
        switch (kind) {
            case FREE: accel = free_road(car.v); break;
            case FOLLOW:
                if (lead - car.s <= 0) hit = t;
                least = hit < 0 ? fminf(least, lead - car.s) : least;
                accel = idm(car.v, lead - car.s, lead_v);
                lead += lead_v * DT;
                break;
            case BRAKE:
                if (lead - car.s <= 0) hit = t;
                least = hit < 0 ? fminf(least, lead - car.s) : least;
                accel = idm(car.v, lead - car.s, lead_v);
                if (t >= brakes) lead_v = fmaxf(0, lead_v - hardness * DT);
                lead += lead_v * DT;
                break;
            case CUT_IN:
                if (t < enters) {
                    accel = free_road(car.v);
                    break;
                }
                if (t == enters) lead += car.s;
                if (lead - car.s <= 0) hit = t;
                least = hit < 0 ? fminf(least, lead - car.s) : least;
                accel = idm(car.v, lead - car.s, lead_v);
                lead += lead_v * DT;
        }
        if (hit >= 0) break;
        move(car, accel, curvature);
    }
    write(out, i, car, least, hit);
}
// --8<-- [end:branches]

extern "C" __global__ void rollout_mixed(Results out, Scenes in, int steps, int n) { by_kind(out, in, steps, n); }

extern "C" __global__ void rollout_sorted(Results out, Scenes in, int steps, int n) { by_kind(out, in, steps, n); }

// --8<-- [start:flat]
// The same step for every scene: a free road is a lead car that never enters, and most lead cars never brake.
extern "C" __global__ void rollout_flat(Results out, Scenes in, int steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Car car = {0, in.y[i], in.psi[i], in.v[i]};
    float curvature = in.curvature[i], ahead = in.gap[i], lead_v = in.lead_v[i], hardness = in.hardness[i];
    float lead = 0, least = 1000;
    int hit = -1, enters = in.enters[i], brakes = in.brakes[i];
    for (int t = 0; t < steps; ++t) {
        if (t == enters) lead = car.s + ahead;
        float gap = t >= enters ? lead - car.s : 1e6f;
        if (gap <= 0) {
            hit = t;
            break;
        }
        least = fminf(least, gap);
        move(car, idm(car.v, gap, lead_v), curvature);
        lead_v = fmaxf(0, lead_v - (t >= brakes ? hardness * DT : 0));
        lead += lead_v * DT;
    }
    write(out, i, car, least, hit);
}
// --8<-- [end:flat]
