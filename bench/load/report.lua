-- Prints the result of a run as JSON.
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\nREPORT {"requests":%d,"seconds":%.6f,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
