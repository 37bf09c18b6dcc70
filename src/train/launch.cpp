#include "train/launch.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "as2/error.h"

namespace as2::train {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

std::string required(const char* name) {
  std::string text = variable(name);
  if (text.empty()) {
    throw InputError("the environment variable " + std::string(name) +
                         " is not set, but others of RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are",
                     {"torchrun, or a launcher like srun or mpirun with a line of shell, sets all four; "
                      "for workers on this machine alone, unset RANK and WORLD_SIZE and use --workers N"});
  }
  return text;
}

int integer(const char* name, const std::string& text, int low, int high) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || value < low || value > high) {
    throw InputError("the environment variable " + std::string(name) + " is '" + text +
                         "'; expected a whole number from " + std::to_string(low) + " to " +
                         std::to_string(high),
                     {"it is normally set by torchrun, srun or mpirun, or by --workers"});
  }
  return static_cast<int>(value);
}

}  // namespace

Launch launch_from_environment() {
  Launch launch;
  if (variable("RANK").empty() && variable("WORLD_SIZE").empty()) return launch;
  launch.connects = true;
  launch.world = integer("WORLD_SIZE", required("WORLD_SIZE"), 1, 1 << 16);
  launch.rank = integer("RANK", required("RANK"), 0, launch.world - 1);
  launch.address = required("MASTER_ADDR");
  launch.port = integer("MASTER_PORT", required("MASTER_PORT"), 1, 65535);
  const std::string local = variable("LOCAL_RANK");
  launch.local_rank = local.empty() ? launch.rank : integer("LOCAL_RANK", local, 0, 1 << 16);
  return launch;
}

void set_launch_environment(const Launch& launch) {
  setenv("RANK", std::to_string(launch.rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(launch.world).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(launch.local_rank).c_str(), 1);
  setenv("MASTER_ADDR", launch.address.c_str(), 1);
  setenv("MASTER_PORT", std::to_string(launch.port).c_str(), 1);
}

int free_port() {
  const int handle = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(handle, generic, size) == 0 && getsockname(handle, generic, &size) == 0;
  close(handle);
  if (!bound)
    throw EnvironmentError("no free TCP port on 127.0.0.1", {"end programs that listen on many ports"});
  return ntohs(address.sin_port);
}

// Connecting a datagram socket sends nothing: the system only chooses the interface.
std::string address_towards(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list)) {
    throw EnvironmentError("MASTER_ADDR " + address + ": " + gai_strerror(error),
                           {"check the name of rank 0's machine and the network"});
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
  for (const addrinfo* way = list; way; way = way->ai_next) {
    const int handle = socket(way->ai_family, way->ai_socktype, way->ai_protocol);
    if (handle < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* generic = reinterpret_cast<sockaddr*>(&own);
    char text[NI_MAXHOST];
    const bool found = connect(handle, way->ai_addr, way->ai_addrlen) == 0 &&
                       getsockname(handle, generic, &size) == 0 &&
                       getnameinfo(generic, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
    close(handle);
    if (found) return text;
  }
  throw EnvironmentError("MASTER_ADDR " + address + ": there is no route to it from this machine",
                         {"check the network between the machines"});
}

}  // namespace as2::train
