#!/bin/sh
# Three hosts on one machine train together: each in a network namespace of its own, joined by a bridge, with
# nothing in common but the network. Only the first has the run's folder. Needs root and iproute2.
#   bench/three_hosts.sh [PROGRAM]     default: build/release/bin/as2
set -eu

program=$(realpath "${1:-$(dirname "$0")/../build/release/bin/as2}")
hosts=3
prefix=as2h$$
work=$(mktemp -d)

stop() {
  echo "three_hosts: $*" >&2
  exit 1
}

clean() {
  for rank in $(seq 0 $((hosts - 1))); do
    [ ! -e "$work/$rank.pid" ] || kill -9 "$(cat "$work/$rank.pid")" 2>/dev/null || true
    ip netns del "$prefix-$rank" 2>/dev/null || true
  done
  ip link del "$prefix" 2>/dev/null || true
  rm -rf "$work"
}

[ -x "$program" ] || stop "$program is not there; build it with ./as2 build"
command -v ip >/dev/null || stop "there is no program 'ip'; install iproute2"
[ "$(id -u)" = 0 ] || stop "network namespaces need root"
trap clean EXIT
trap 'exit 130' INT TERM

ip netns add "$prefix-probe" 2>"$work/why" || stop "no network namespace can be made here: $(cat "$work/why")"
ip netns del "$prefix-probe"

ip link add "$prefix" type bridge 2>"$work/why" || stop "no bridge can be made here: $(cat "$work/why")"
ip link set "$prefix" up
for rank in $(seq 0 $((hosts - 1))); do
  ip netns add "$prefix-$rank"
  ip link add "$prefix.$rank" type veth peer name eth0 netns "$prefix-$rank"
  ip link set "$prefix.$rank" master "$prefix" up
  ip -n "$prefix-$rank" address add "10.77.0.$((rank + 1))/24" dev eth0
  ip -n "$prefix-$rank" link set eth0 up
  ip -n "$prefix-$rank" link set lo up
done

for rank in $(seq 0 $((hosts - 1))); do
  mkdir "$work/$rank"
  (
    cd "$work/$rank"
    exec ip netns exec "$prefix-$rank" env RANK="$rank" LOCAL_RANK=0 WORLD_SIZE=$hosts MASTER_ADDR=10.77.0.1 \
      MASTER_PORT=29500 XDG_CACHE_HOME="$work/$rank/cache" OMP_WAIT_POLICY=PASSIVE \
      "$program" train sudoku --preset tiny --device cpu --threads 1 --batch 66 --epochs 4 --out run --json \
      --set data.train=1056 --set data.validation=100 --set train.stop_at=2
  ) >"$work/$rank.out" 2>"$work/$rank.err" &
  echo $! >"$work/$rank.pid"
done

failed=
for rank in $(seq 0 $((hosts - 1))); do
  wait "$(cat "$work/$rank.pid")" || failed="$failed $rank"
  rm "$work/$rank.pid"
  sed "s/^/host $rank: /" "$work/$rank.err"
done
[ -z "$failed" ] || stop "failed on host(s)$failed"
lines=$(wc -l <"$work/0/run/metrics.jsonl")
[ "$lines" = 4 ] || stop "expected 4 records on host 0, found $lines"
for rank in $(seq 1 $((hosts - 1))); do
  [ ! -e "$work/$rank/run" ] || stop "host $rank wrote a run folder, which is rank 0's to write"
done
cat "$work/0.out"
echo "three_hosts: $hosts hosts trained together"
