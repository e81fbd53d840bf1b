-- The id of a choice as the tag makes it: a UUID of version 7, without dashes. The clock has seconds only.
function choice_id(thread, salt)
  return string.format("%012x7%03x8%015x", os.time() * 1000 + math.random(0, 999), thread, salt)
end

-- What the tag says it showed; BENCH_BUILD is what the service calls it. Nobody who only reads has it.
shown = '"shown":{"language":"en","script":"' .. (os.getenv("BENCH_BUILD") or "") .. '"}'
