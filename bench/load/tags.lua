-- Requests the tags of many pixels in turn. Argument: the number of pixels.
dofile(os.getenv("BENCH_LOAD") .. "/report.lua")

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(arguments)
  local pixels = tonumber(arguments[1])
  local next = number * math.floor(pixels / 2)
  request = function()
    next = next % pixels + 1
    return "GET /px/bench-" .. next .. ".js HTTP/1.1\r\nHost: shop.example\r\nAccept-Encoding: br\r\n\r\n"
  end
end
