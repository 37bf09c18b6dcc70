// How this process was started: alone, or as one of several that train together.
#pragma once

#include <string>

namespace as2::train {

// This process among its peers. One process alone: rank 0 of 1.
struct Launch {
  int rank = 0;
  int world = 1;
  int local_rank = 0;                 // among the processes of this machine
  std::string address = "127.0.0.1";  // where rank 0 listens
  int port = 29500;
  bool connects = false;  // a launcher started this process, even if as the only one
};

// Reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and LOCAL_RANK (without it: the rank), as torchrun sets
// them; neither RANK nor WORLD_SIZE means one process alone. InputError when one of the first four is missing
// or makes no sense.
Launch launch_from_environment();

// Sets the variables that launch_from_environment() reads.
void set_launch_environment(const Launch& launch);

// A TCP port of this machine that was free a moment ago.
int free_port();

// This machine's own address on the way to `address`: where the other workers can reach it.
std::string address_towards(const std::string& address, int port);

}  // namespace as2::train
