-- Valid and hostile requests in turn, for wrk: see docs/SERVING.md, "Measured".
local function post(path, body, kind)
  return wrk.format("POST", path, {["Content-Type"] = kind or "application/json"}, body)
end

local program = [["program": "{ seat(P,1..3) } = 1 :- P = (ann;bob;eve). :- seat(P,S), seat(Q,S), P < Q."]]
local beliefs = [["beliefs": {"seat(ann,_)": {"2": 0.9, "1": 0.1}, "seat(bob,_)": {"2": 0.8, "3": 0.2}}]]
local deep = string.rep('{"a":', 20000)
local requests = {
  wrk.format("GET", "/"),
  post("/api/check", "{" .. program .. "}"),
  post("/api/decode", "{" .. program .. "," .. beliefs .. [[, "explain": true}]]),
  wrk.format("GET", "/../../../../etc/passwd"),
  post("/api/prob", "{" .. program .. "," .. beliefs .. [[, "marginals": true, "query": ["seat(eve,1)"]}]]),
  post("/api/check", [[{"program": "#include \"/etc/passwd\"."}]]),
  post("/api/verify", "{" .. program .. [[, "assignment": {"seat(ann,_)": "1", "seat(bob,_)": "2", "seat(eve,_)": "3"}}]]),
  post("/api/check", "{" .. program),
  post("/api/decode", "{" .. program .. "," .. beliefs .. [[, "evidence": ["/etc/passwd"], "method": "greedy"}]]),
  post("/api/check", deep),
  post("/api/check", [[{"program": "a :- b", "save": "/tmp/x"}]]),
  post("/api/solve", string.rep("x", 100000), "image/png"),
  post("/api/check", [[{"program": "#script(python) import os #end."}]]),
  wrk.format("GET", "/index.html", {["Range"] = "bytes=" .. string.rep("0-0,", 1500) .. "0-0"}),
}
-- Never ends by itself: the time limit ends it. Seldom, for it takes a core while it runs.
local endless = post("/api/check", [[{"program": "p(1). p(X+1) :- p(X)."}]])

local count = 0
function request()
  count = count + 1
  if count % 400 == 0 then return endless end
  return requests[count % #requests + 1]
end

statuses = {}
function response(status)
  statuses[status] = (statuses[status] or 0) + 1
end

local threads = {}
function setup(thread)
  table.insert(threads, thread)
end
function done(summary, latency)
  io.write(string.format("p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, most %.1f ms; %d requests, errors: %d connect, %d read, %d write, %d timeout\n",
    latency:percentile(50) / 1000, latency:percentile(90) / 1000, latency:percentile(99) / 1000, latency.max / 1000,
    summary.requests, summary.errors.connect, summary.errors.read, summary.errors.write, summary.errors.timeout))
  for _, thread in ipairs(threads) do
    for status, times in pairs(thread:get("statuses")) do io.write(string.format("  %d: %d\n", status, times)) end
  end
end
