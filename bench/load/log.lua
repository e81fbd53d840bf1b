-- Requests the consent log of random visitors. Arguments: pixel, key, number of visitors.
dofile(os.getenv("BENCH_LOAD") .. "/report.lua")

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(arguments)
  local pixel, key, visitors = arguments[1], arguments[2], tonumber(arguments[3])
  local template = "GET /v1/pixels/" .. pixel .. "/consent?visitor_id=visitor-%d HTTP/1.1\r\n" ..
    "Host: shop.example\r\nAuthorization: Bearer " .. key .. "\r\n\r\n"
  math.randomseed(os.time() * 31 + number)
  request = function() return string.format(template, math.random(1, visitors)) end
end
