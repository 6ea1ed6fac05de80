-- What wrk counted, as one line of JSON. With a file as argument, its lines are the paths to ask for, over and over.
local paths

function init(args)
  if args[1] == nil then return end
  paths = {}
  for line in io.lines(args[1]) do
    paths[#paths + 1] = wrk.format(nil, line)
  end
  local index = 0
  request = function()
    index = index + 1
    if index > #paths then index = 1 end
    return paths[index]
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"durationUs":%d,"p50Us":%d,"p99Us":%d,"failures":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
