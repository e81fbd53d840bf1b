-- Stores an empty list of contacts with each request. Argument: an API key.
dofile(os.getenv("BENCH_LOAD") .. "/report.lua")

function init(arguments)
  local body = '{"contacts":[]}'
  local message = "POST " .. wrk.path .. " HTTP/1.1\r\nHost: shop.example\r\n" ..
    "Authorization: Bearer " .. arguments[1] .. "\r\nContent-Type: application/json\r\n" ..
    "Content-Length: " .. #body .. "\r\n\r\n" .. body
  request = function() return message end
end
