/** Lines as programs log them, without a secret in them: what is hidden in these is a false alarm. */

const WRITTEN = `
Error: connect ECONNREFUSED 127.0.0.1:5432
Error: getaddrinfo ENOTFOUND db.internal
TypeError: Cannot read properties of undefined (reading 'id')
RangeError: Maximum call stack size exceeded
SyntaxError: Unexpected token < in JSON at position 0
SyntaxError: Unexpected token } in JSON at position 4132
SyntaxError: Unexpected end of JSON input
Error: the password is wrong
Error: invalid token
Error: token expired
TokenExpiredError: jwt expired
JsonWebTokenError: invalid signature
JsonWebTokenError: jwt malformed
Error: Request failed with status code 401
Error: Request failed with status code 503
AxiosError: timeout of 5000ms exceeded
Error: socket hang up
Error: read ECONNRESET
Error: self-signed certificate in certificate chain
Error: unable to verify the first certificate
MongoServerError: E11000 duplicate key error collection: shop.users index: email_1 dup key: { email: "ada@example.com" }
PostgresError: duplicate key value violates unique constraint "users_email_key"
error: relation "jobs" does not exist
error: deadlock detected
error: canceling statement due to statement timeout
ReplyError: READONLY You can't write against a read only replica.
Error: ENOENT: no such file or directory, open '/app/config.json'
Error: EACCES: permission denied, mkdir '/var/log/app'
FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
    at Object.<anonymous> (/app/src/token.ts:12:34)
    at processTicksAndRejections (node:internal/process/task_queues:95:5)
    at async Promise.all (index 0)
    at async /app/src/auth/session.ts:88:11
    at Module._compile (node:internal/modules/cjs/loader:1256:14)
    at new Password (/app/src/password.ts:3:9)
    at PasswordReset.send (file:///app/dist/password-reset.js:44:7)
2026-11-16T08:52:10.000Z info: listening on :3000
2026-11-16 08:52:10,123 INFO  [main] c.e.Application: Started Application in 4.2 seconds
[2026-11-16 08:52:10] production.INFO: job done in 82 ms
Nov 16 08:52:10 web-1 nginx[812]: worker process 813 exited with code 0
ts=2026-11-16T08:52:10Z level=info msg="request done" method=GET path=/users status=200 duration=12ms
level=warn component=scheduler msg="slot was missed" schedule=nightly late=4.2s
127.0.0.1 - - [16/Nov/2026:08:52:10 +0000] "GET /users?page=2&sort=name HTTP/1.1" 200 1234 "-" "curl/8.5.0"
10.0.0.7 - ada [16/Nov/2026:08:52:10 +0000] "POST /login HTTP/1.1" 302 0
GET https://api.example.com/v1/users?page=2&limit=50 200 31ms
https://example.com/a?b=c#d
see https://docs.example.com/guide/authentication#tokens for more
mail to ada@example.com: ok
sent 12 mails to ada@example.com, bob@example.com
From: "Ada" <ada@example.com>
a basic idea
a basic understanding of queues
basic authentication is not supported
use bearer authentication instead
the digest algorithm is sha256
bearer tokens are described in RFC 6750
key=value; max-age=3600
cache-control: public, max-age=31536000, immutable
content-type: application/json; charset=utf-8
content-length: 348
etag: W/"5d8-18b1f2c3a40"
accept: text/html,application/xhtml+xml
user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36
strict-transport-security: max-age=63072000; includeSubDomains
x-request-id: 01890000-0000-7000-8000-000000000001
traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
idempotency-key: order-2026-11-16-0042
access-control-allow-headers: authorization, content-type
www-authenticate: Bearer realm="api"
vary: Cookie
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
Merge pull request #482 from acme/fix-token-refresh
npm warn deprecated inflight@1.0.6: This module is not supported
added 412 packages in 9s
docker: pulling ghcr.io/acme/api@sha256:9b2c7e1d4f6a8b0c3e5d7f9a1b3c5d7e9f0a2b4c6d8e0f1a3b5c7d9e1f2a4b6c
image: postgres:16-alpine
order 0042: 3 items, total 59.97 EUR, shipped
invoice INV-2026-000042 was paid by card
paid by card, 2 items
order 4000 1234 5678 9010 is no card: its check digit is wrong
phone: +49 30 1234567
version: 1.4.2-beta.3+build.77
id: 01890000-0000-7000-8000-000000000001
uuid=550e8400-e29b-41d4-a716-446655440000
sha256: 9b2c7e1d4f6a8b0c3e5d7f9a1b3c5d7e9f0a2b4c6d8e0f1a3b5c7d9e1f2a4b6c
md5=d41d8cd98f00b204e9800998ecf8427e
size=1048576 offset=0 limit=100
usage: prompt_tokens=812, completion_tokens=96, total_tokens=908
usage: { prompt_tokens: 812, completion_tokens: 96, total_tokens: 908 }
used 4096 tokens of 8192
maxTokens: 2048, temperature: 0.2
tests: 412 pass, 0 fail, 3 skipped
tests=415 pass=412 fail=0
the second pass took 12 ms
author: Ada Lovelace
authors: Ada, Grace
authorized: true
authenticated user 42
authentication failed for user "app"
password authentication failed for user "app"
FATAL: password authentication failed for user "app"
reset your password at https://app.example.com/reset
your password must have 12 characters
password: required
hasPassword: true
isSecret=false
passwordless login is on
secretary: Grace
token: expired
token: null
token: invalid
auth: failed
auth: none
signature: invalid
signature: (a: string, b: number) => void
function sign(payload: Payload): Signature
pass: true
pin: null
card: missing
cookie: none
session started for user 42
session id was renewed
compass: north
bypass: on
spinner: dots
span: 12ms
keyboard: de
keys: 12
primaryKey: id
foreign key (user_id) references users(id)
monkey: 1
select * from users where id = $1 and state = 'active'
insert into jobs (id, queue) values ($1, $2) on conflict do nothing
update accounts set balance = balance - 10 where id = 42
where password = $2
PASSWORD=$DB_PASSWORD
password=%s
password: <hidden>
token=[REDACTED]
password: ***
--verbose --port 3000 --host 0.0.0.0
--max-old-space-size=4096
docker run -p 5432:5432 -e POSTGRES_DB=shop postgres
curl -s https://api.example.com/v1/health
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJx ada@laptop
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
{"level":30,"time":1763283130000,"pid":812,"hostname":"web-1","msg":"listening"}
{"queue":"mail","state":"dead","attempts":5,"error":"timeout"}
{"user":{"id":42,"name":"Ada","email":"ada@example.com"},"items":[{"sku":"A-1","count":2}]}
{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}
{"error":{"code":"NOT_FOUND","message":"There is no such job."}}
{"primaryKey":"id","uniqueKey":"order-1","idempotencyKey":"x-1"}
{ sku: 'A-1', count: 2, price: 9.99, tags: ['new', 'sale'] }
Map(2) { 'a' => 1, 'b' => 2 }
[Function: handler]
<Buffer 68 65 6c 6c 6f>
ratio 3:2, score 10:8
12:34:56.789 up 4 days, load average: 0.42, 0.31, 0.28
C:\\Users\\ada\\project\\src\\index.ts
/usr/local/lib/node_modules/npm/bin/npm-cli.js
s3://bucket/path/to/object.json
git@github.com:acme/api.git
git clone https://github.com/acme/api.git
file:///app/src/index.ts:12:5
mongodb://localhost:27017/shop
postgres://localhost:5432/shop
redis://cache:6379/0
amqp://rabbit:5672/vhost
ws://localhost:3000/socket?room=42
http://[::1]:3000/
http://localhost:9229/json/list
data:image/png;base64,iVBORw0KGgo=
urn:uuid:550e8400-e29b-41d4-a716-446655440000
cron: 0 3 * * 1-5
0 3 * * * Europe/Berlin
lat=52.52 lon=13.405
color: #ff8800; background: url(/img/bg.png)
a.b.c=1.2.3
x=1;y=2;z=3
ETA: 12:30
Re: your order
Note: this is harmless
TODO(ada): remove
warning: unused variable: 'result'
error TS2322: Type 'string' is not assignable to type 'number'.
src/index.ts(12,34): error TS2304: Cannot find name 'foo'.
ok 1 - it works
# tests 12
✓ does what it should (12 ms)
✗ fails: expected 3 to be 4
Der Nutzer wurde angelegt: Ada
用户已创建: 42
Пользователь создан: 42
🐝 3 jobs done
error: duplicate key value violates unique constraint "users_email_key" Key (email)=(ada@example.com) already exists.
Key (order_id)=(42) is not present in table "orders".
<user><name>Ada</name><page>2</page></user>
<Token>expired</Token>
Usage: login <user> <password>
docker run -u 1000:1000 -e POSTGRES_DB=shop postgres
sudo -u app:app npm start
curl -u ada https://api.example.com
session: closed
session: 42
session 4711 ended
lastSession: '2026-11-16'
messageSid: 'MM-order-42'
fields: ['email', 'password', 'createdAt']
required: ["name", "token", "email"]
allowedHeaders: ['Authorization', 'Content-Type', 'X-Api-Key', 'Accept']
Error: could not read the password:
password: $1
where token = $12 and id = $1
<input type="password" name="password" placeholder="at least 12 characters">
`
  .split('\n')
  .filter((line) => line !== '')

/** Lines that differ in what was put into them, as a service writes all day. */
const PATTERNS: readonly ((n: number) => string)[] = [
  (n) => `job 01890000-0000-7000-8000-${String(n).padStart(12, '0')} done in ${n * 7} ms`,
  (n) => `GET /users/${n}/orders?page=${n % 9}&state=open 200 ${n % 90}ms`,
  (n) => `{"queue":"billing.invoice","id":${n},"attempt":${n % 5},"lane":"customer-${n}","ok":true}`,
  (n) =>
    `level=info msg="order shipped" order=${n} carrier=dhl tracking=JD${1_000_000 + n} weight=${n % 30}kg`,
  (n) => `    at Worker.run (/app/src/worker/run-${n}.ts:${n}:${n % 80})`,
  (n) => `Error: HTTP ${400 + (n % 100)} from https://api.example.com/v${n % 3}/things/${n}`,
]

export const HARMLESS: readonly string[] = [
  ...WRITTEN,
  ...PATTERNS.flatMap((pattern) => Array.from({ length: 30 }, (_, n) => pattern(n * 37 + 11))),
]
