-- Generates a choice id like the tag: a UUID of version 7, without dashes. Lua's clock has only seconds.
function choice_id(thread, salt)
  return string.format("%012x7%03x8%015x", os.time() * 1000 + math.random(0, 999), thread, salt)
end

-- The shown language and build that the tag sends. BENCH_BUILD is the build; loads that only read do not set it.
shown = '"shown":{"language":"en","script":"' .. (os.getenv("BENCH_BUILD") or "") .. '"}'
