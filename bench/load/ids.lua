-- Ids of choices, as the tag makes them: the time stands in front (version 7 of RFC 9562), the rest is
-- random, and of this thread of this run.
return function(number)
  local salt = math.random(0, 0xffff)
  local count = 0
  return function()
    count = count + 1
    local time = os.time() * 1000 + math.random(0, 999)
    return string.format("%08x-%04x-7%03x-8%03x-%04x%08x", math.floor(time / 0x10000), time % 0x10000,
      math.random(0, 0xfff), number, salt, count)
  end
end
