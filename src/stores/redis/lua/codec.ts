/** Numbers as bytes that sort as they count, texts compared by their bytes, and commands with more arguments than Lua can hand over at once. */
export const BYTES: string = `
local byte, char, sub = string.byte, string.char, string.sub
local floor, max, min = math.floor, math.max, math.min
local NEVER = 8640000000000000

local function inverted(text)
  return (string.gsub(text, '.', function(c) return char(255 - byte(c)) end))
end

-- A number as 8 bytes. Of a double the sign comes first, then the exponent: only the sign has to be turned around.
local function num(x)
  local text = struct.pack('>d', x + 0)
  if x >= 0 then return char(byte(text, 1) + 128) .. sub(text, 2) end
  return inverted(text)
end

-- The number that stands at a place in a text.
local function numAt(text, at)
  local first = byte(text, at)
  if first >= 128 then return (struct.unpack('>d', char(first - 128) .. sub(text, at + 1, at + 7))) end
  return (struct.unpack('>d', inverted(sub(text, at, at + 7))))
end

local function q4(q) return struct.pack('>I4', q) end

-- Lua itself compares texts as the language of the server has it, which is not how Redis sorts members. This is.
local function isBelow(a, b)
  for i = 1, min(#a, #b) do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- The same for ids.
local function isBefore(a, b)
  local a1, a2, a3 = struct.unpack('>I6I6I4', a)
  local b1, b2, b3 = struct.unpack('>I6I6I4', b)
  return a1 < b1 or (a1 == b1 and (a2 < b2 or (a2 == b2 and a3 < b3)))
end

-- A command on a key with any number of arguments.
local MOST = 4000
local function send(command, key, list)
  for from = 1, #list, MOST do
    redis.call(command, key, unpack(list, from, min(#list, from + MOST - 1)))
  end
end

-- The same for a command that answers each argument: all answers.
local function ask(command, key, list)
  if #list == 0 then return {} end
  if #list <= MOST then return redis.call(command, key, unpack(list)) end
  local all = {}
  for from = 1, #list, MOST do
    for _, answer in ipairs(redis.call(command, key, unpack(list, from, min(#list, from + MOST - 1)))) do
      all[#all + 1] = answer
    end
  end
  return all
end

-- The members of a sorted set that begin with a text, from a place in it on.
local function beginning(key, text, limit)
  return redis.call('ZRANGEBYLEX', key, '[' .. text, '(' .. text .. '\\255', 'LIMIT', 0, limit)
end

-- A text in JSON as JavaScript writes it.
local function quoted(text)
  return (string.gsub(cjson.encode(text), '\\\\/', '/'))
end

local function uuidOf(id)
  return string.format('%08x-%04x-%04x-%04x-%04x%08x', struct.unpack('>I4I2I2I2I2I4', id))
end

local function idOf(uuid)
  local function hex(from, to) return tonumber(sub(uuid, from, to), 16) end
  return struct.pack('>I4I2I2I2I2I4', hex(1, 8), hex(10, 13), hex(15, 18), hex(20, 23), hex(25, 28), hex(29, 36))
end

local function forEach(list, visit)
  local results = {}
  for i, one in ipairs(list) do results[i] = visit(one) end
  return results
end
`
