/**
 * Secrets in the shapes in which programs log and store them. None is real, and each is put together from parts, so that no scanner of
 * repositories takes it for one.
 */

export interface SecretCase {
  readonly name: string
  readonly value: unknown
  /** What nobody may see. */
  readonly secrets: readonly string[]
  /** What helps whoever reads it, and must stay. */
  readonly kept?: readonly string[]
}

const parts = (...all: string[]): string => all.join('')

const PASSWORD = parts('hunter', '2-Geheim')
const HEX32 = parts('0f1e2d3c4b5a6978', '8796a5b4c3d2e1f0')
const ALNUM = parts('Zk3Jq9Xw2Lm7', 'Tb5Vn8Rc4Yd6Hf1Gs0Pa')
const JWT = parts(
  'ey',
  'JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.',
  'ey',
  'JzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkFkYSJ9.',
  'SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c',
)
const PEM_BODY = parts('MIIEvQIBADANBgkqhkiG9w0BAQEFAASC', 'BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj')
const pem = (kind: string): string =>
  `-----BEGIN ${kind}-----\n${PEM_BODY}\n${PEM_BODY}\n-----END ${kind}-----`

const vendor = (name: string, ...pieces: string[]): SecretCase => {
  const token = parts(...pieces)
  return { name, value: `request failed for ${token}, will retry`, secrets: [token], kept: ['will retry'] }
}

export const SECRETS: readonly SecretCase[] = [
  // ── addresses ──
  ...[
    'postgres',
    'postgresql',
    'mysql',
    'mongodb+srv',
    'amqp',
    'redis',
    'rediss',
    'nats',
    'https',
    'ftp',
  ].map(
    (scheme): SecretCase => ({
      name: `a login in an address of ${scheme}`,
      value: `connect ${scheme}://app:${PASSWORD}@db.internal:1234/x failed: ECONNREFUSED`,
      secrets: [PASSWORD],
      kept: ['db.internal', 'ECONNREFUSED'],
    }),
  ),
  {
    name: 'an address with a password and no name',
    value: `redis://:${PASSWORD}@cache:6379/0`,
    secrets: [PASSWORD],
    kept: ['cache:6379'],
  },
  {
    name: 'an address in a variable of the environment',
    value: `DATABASE_URL=postgres://app:${PASSWORD}@db/x`,
    secrets: [PASSWORD],
    kept: ['DATABASE_URL'],
  },
  ...['api_key', 'apikey', 'access_token', 'token', 'auth', 'sig', 'X-Amz-Signature', 'client_secret'].map(
    (key): SecretCase => ({
      name: `?${key}= in an address`,
      value: `GET https://api.example.com/v1/users?page=2&${key}=${ALNUM}&sort=name 403`,
      secrets: [ALNUM],
      kept: ['page=2', 'sort=name', '403'],
    }),
  ),
  {
    name: 'an address inside of an address',
    value: `/login?next=https%3A%2F%2Fapp.example.com%2F%3Faccess_token%3D${ALNUM}`,
    secrets: [ALNUM],
  },
  // ── texts ──
  {
    name: 'behind the name of an error',
    value: `Error: password=${PASSWORD} was refused`,
    secrets: [PASSWORD],
    kept: ['Error', 'was refused'],
  },
  { name: 'behind two names', value: `TypeError: login: pw=${PASSWORD}`, secrets: [PASSWORD] },
  {
    name: 'with a colon',
    value: `login as ada with password: ${PASSWORD}`,
    secrets: [PASSWORD],
    kept: ['login as ada'],
  },
  { name: 'with an arrow', value: `{ "password" => "${PASSWORD}" }`, secrets: [PASSWORD] },
  {
    name: 'in quotes with blanks',
    value: `secret = "${PASSWORD} and more"`,
    secrets: [PASSWORD, 'and more'],
  },
  { name: 'in single quotes', value: `passwd: '${PASSWORD}'`, secrets: [PASSWORD] },
  {
    name: 'in a form',
    value: `user=ada&pass=${PASSWORD}&remember=1`,
    secrets: [PASSWORD],
    kept: ['user=ada', 'remember=1'],
  },
  { name: 'in a form of Rails', value: `user[password]=${PASSWORD}&commit=go`, secrets: [PASSWORD] },
  { name: 'in a flag', value: `mysqldump --password=${PASSWORD} shop`, secrets: [PASSWORD], kept: ['shop'] },
  { name: 'in a flag with a blank', value: `deploy --api-token ${ALNUM} --region eu`, secrets: [ALNUM] },
  {
    name: 'in YAML',
    value: `db:\n  user: app\n  password: ${PASSWORD}\n`,
    secrets: [PASSWORD],
    kept: ['app'],
  },
  { name: 'in a file of settings', value: `SMTP_PASS=${PASSWORD}\nSMTP_PORT=587`, secrets: [PASSWORD] },
  { name: 'in SQL', value: `ALTER USER app WITH PASSWORD '${PASSWORD}';`, secrets: [PASSWORD] },
  { name: 'in SQL of MySQL', value: `CREATE USER a IDENTIFIED BY '${PASSWORD}'`, secrets: [PASSWORD] },
  {
    name: 'in a connection string of ADO',
    value: `Server=db;User Id=sa;Password=${PASSWORD};Encrypt=true`,
    secrets: [PASSWORD],
    kept: ['Encrypt=true'],
  },
  {
    name: 'in a connection string of Azure',
    value: `DefaultEndpointsProtocol=https;AccountName=x;AccountKey=${ALNUM}==;EndpointSuffix=core`,
    secrets: [ALNUM],
  },
  {
    name: 'in what util.inspect prints',
    value: `{ user: 'ada', accessToken: '${ALNUM}', tries: 3 }`,
    secrets: [ALNUM],
    kept: ['tries: 3'],
  },
  { name: 'in a list', value: `tokens: ['${ALNUM}', '${HEX32}']`, secrets: [ALNUM, HEX32] },
  // ── JSON ──
  {
    name: 'in JSON',
    value: JSON.stringify({ apiKey: ALNUM, page: 1 }),
    secrets: [ALNUM],
    kept: ['"page":1'],
  },
  {
    name: 'in JSON inside of JSON',
    value: JSON.stringify({ body: JSON.stringify({ password: PASSWORD, page: 1 }) }),
    secrets: [PASSWORD],
    kept: ['page'],
  },
  {
    name: 'in JSON inside of JSON inside of JSON',
    value: JSON.stringify({ a: JSON.stringify({ b: JSON.stringify({ client_secret: ALNUM, page: 1 }) }) }),
    secrets: [ALNUM],
  },
  {
    name: 'as an object in JSON',
    value: JSON.stringify({ auth: { user: 'ada', word: PASSWORD } }),
    secrets: [PASSWORD],
  },
  { name: 'a number in JSON', value: JSON.stringify({ cvv: 739_211 }), secrets: ['739211'] },
  {
    name: 'in JSON in a line of a log',
    value: `POST /login 500 ${JSON.stringify({ token: ALNUM })} 12ms`,
    secrets: [ALNUM],
    kept: ['12ms'],
  },
  // ── headers ──
  { name: 'a header with a bearer', value: `authorization: Bearer ${ALNUM}`, secrets: [ALNUM] },
  {
    name: 'a header with a name and a password',
    value: `Authorization: Basic ${btoa(`ada:${PASSWORD}`)}`,
    secrets: [btoa(`ada:${PASSWORD}`)],
  },
  {
    name: 'a header of AWS',
    value: `Authorization: AWS4-HMAC-SHA256 Credential=x/20261118/eu/s3/aws4_request, SignedHeaders=host, Signature=${HEX32}${HEX32}`,
    secrets: [HEX32],
  },
  {
    name: 'a header of curl',
    value: `curl -H "Authorization: Bearer ${ALNUM}" https://api.example.com`,
    secrets: [ALNUM],
    kept: ['api.example.com'],
  },
  { name: 'a key in a header', value: `X-Api-Key: ${ALNUM}`, secrets: [ALNUM] },
  { name: 'a token in a header', value: `x-auth-token: ${ALNUM}`, secrets: [ALNUM] },
  { name: 'a cookie', value: `Cookie: theme=dark; session=${ALNUM}; lang=de`, secrets: [ALNUM] },
  { name: 'a cookie that is set', value: `Set-Cookie: sid=${ALNUM}; Path=/; HttpOnly`, secrets: [ALNUM] },
  { name: 'a bearer in a sentence', value: `the bearer ${ALNUM} has expired`, secrets: [ALNUM] },
  {
    name: 'a list of headers as objects',
    value: [
      { name: 'Authorization', value: `Bearer ${ALNUM}` },
      { name: 'accept', value: 'text/html' },
    ],
    secrets: [ALNUM],
    kept: ['text/html'],
  },
  // ── names of fields ──
  ...[
    'tokens',
    'accessTokens',
    'refresh_tokens',
    'auth',
    'basicAuth',
    'bearer',
    'signature',
    'x-hub-signature',
    'pass',
    'smtpPass',
    'pw',
    'dbPw',
    'sig',
    'sessionToken',
    'webhookSecret',
    'privateKeyPem',
    'passphrase',
    'mnemonic',
    'recoveryCodes',
    'Ocp-Apim-Subscription-Key',
  ].map(
    (key): SecretCase => ({ name: `the field ${key}`, value: { [key]: ALNUM, id: 7 }, secrets: [ALNUM] }),
  ),
  { name: 'a list under tokens', value: { tokens: [ALNUM, HEX32] }, secrets: [ALNUM, HEX32] },
  {
    name: 'an axios config',
    value: { url: '/v1', auth: { username: 'ada', password: PASSWORD } },
    secrets: [PASSWORD],
    kept: ['/v1'],
  },
  // ── vendors ──
  vendor('Stripe', 'sk_', 'live_', '51HxQmZ3eZvKYlo2C'),
  vendor('Stripe, restricted', 'rk_', 'live_', '51HxQmZ3eZvKYlo2C'),
  vendor('Stripe, for webhooks', 'whsec', '_', ALNUM),
  vendor('GitHub', 'gh', 'p_', ALNUM, '0a1b'),
  vendor('GitHub, for apps', 'gh', 's_', ALNUM, '0a1b'),
  vendor('GitHub, fine-grained', 'github', '_pat_', '11ABCDEFG0abcdefghijkl_', ALNUM),
  vendor('GitLab', 'gl', 'pat-', 'x1y2z3a4b5c6d7e8f9g0'),
  vendor('AWS', 'AK', 'IA', 'IOSFODNN7EXAMPLE'),
  vendor('AWS, for a session', 'AS', 'IA', 'IOSFODNN7EXAMPLE'),
  vendor('Slack', 'xo', 'xb-', '123456789012-1234567890123-', ALNUM),
  vendor('Slack, of a person', 'xo', 'xp-', '123456789012-1234567890123-', ALNUM),
  vendor('npm', 'np', 'm_', ALNUM, '0a1b2c'),
  vendor('Google', 'AI', 'za', 'SyA1234567890abcdefghijklmnopqrstuv'),
  vendor('Google, of a person', 'ya', '29.', 'a0AfH6SMBx1234567890abcdef'),
  vendor('SendGrid', 'S', 'G.', 'ngeVfQFYQlKU0ufo8x5d1A.', 'TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr'),
  vendor('OpenAI', 's', 'k-', 'proj-', ALNUM),
  vendor('Hugging Face', 'h', 'f_', ALNUM),
  vendor('DigitalOcean', 'do', 'p_v1_', HEX32, HEX32),
  vendor('Shopify', 'shp', 'at_', HEX32),
  vendor('Vault', 'h', 'vs.', ALNUM),
  vendor('Twilio', 'S', 'K', HEX32),
  vendor('Mailgun', 'key', '-', HEX32),
  vendor('Telegram', '110201543', ':AA', 'HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw'),
  vendor('a JSON web token', JWT),
  vendor('this server', 'skep', '_0123456789abcdef_', 'A'.repeat(43)),
  {
    name: 'a webhook of Slack',
    value: `POST https://hooks.slack.com/services/T000/B000/${ALNUM} failed`,
    secrets: [ALNUM],
  },
  // ── keys in PEM ──
  ...['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY', 'OPENSSH PRIVATE KEY', 'PGP PRIVATE KEY BLOCK'].map(
    (kind): SecretCase => ({
      name: `a ${kind} in a text`,
      value: `could not read ${pem(kind)} from the file`,
      secrets: [PEM_BODY],
      kept: ['from the file'],
    }),
  ),
  {
    name: 'a key without its end',
    value: pem('PRIVATE KEY').slice(0, 120),
    secrets: [PEM_BODY.slice(0, 40)],
  },
  { name: 'a key in JSON', value: JSON.stringify({ note: pem('PRIVATE KEY') }), secrets: [PEM_BODY] },
  { name: 'a card in groups', value: 'paid with 4242 4242 4242 4242 today', secrets: ['4242 4242 4242'] },
  // ── named in another way ──
  {
    name: 'in what Postgres says of a unique key',
    value: `error: duplicate key value violates unique constraint "users_token_key" Key (token)=(${ALNUM}) already exists.`,
    secrets: [ALNUM],
    kept: ['users_token_key', 'already exists'],
  },
  {
    name: 'in the detail of an error of Postgres',
    value: { code: '23505', detail: `Key (password)=(${PASSWORD}) already exists.` },
    secrets: [PASSWORD],
    kept: ['23505', 'already exists'],
  },
  {
    name: 'in a unique key of several columns and an expression',
    value: `Key (lower(api_token), user_id)=(a) b) ${ALNUM}, 42) already exists.`,
    secrets: [ALNUM],
    kept: ['already exists'],
  },
  {
    name: 'in an element of XML',
    value: `<user>ada</user><password>${PASSWORD}</password><page>2</page>`,
    secrets: [PASSWORD],
    kept: ['<user>ada</user>', '<page>2</page>'],
  },
  {
    name: 'in an element of SOAP',
    value: `<wsse:Password Type="#PasswordText">${PASSWORD}</wsse:Password>`,
    secrets: [PASSWORD],
  },
  {
    name: 'in character data of XML',
    value: `<ApiToken><![CDATA[${ALNUM}]]></ApiToken>`,
    secrets: [ALNUM],
  },
  {
    name: 'in PGPASSWORD',
    value: `PGPASSWORD=${PASSWORD} psql -h db`,
    secrets: [PASSWORD],
    kept: ['psql -h db'],
  },
  {
    name: 'in the environment of a process',
    value: { env: ['PATH=/usr/bin', `PGPASSWORD=${PASSWORD}`] },
    secrets: [PASSWORD],
    kept: ['PATH=/usr/bin'],
  },
  {
    name: 'in raw headers as a text',
    value: `rawHeaders: [ 'Accept', 'text/html', 'X-Api-Key', '${ALNUM}' ]`,
    secrets: [ALNUM],
    kept: ['text/html', 'X-Api-Key'],
  },
  {
    name: 'in raw headers',
    value: { rawHeaders: ['Accept', 'text/html', 'X-Api-Key', ALNUM] },
    secrets: [ALNUM],
    kept: ['text/html', 'X-Api-Key'],
  },
  {
    name: 'in a pair',
    value: [
      ['X-Api-Key', ALNUM],
      ['accept', 'text/html'],
    ],
    secrets: [ALNUM],
    kept: ['text/html'],
  },
  {
    name: 'in arguments',
    value: { argv: ['deploy', '--password', PASSWORD, '--verbose'] },
    secrets: [PASSWORD],
    kept: ['--verbose'],
  },
  {
    name: 'a header as an object with capitals',
    value: { Name: 'X-Api-Key', Value: ALNUM },
    secrets: [ALNUM],
    kept: ['X-Api-Key'],
  },
  { name: 'in a field of HTML', value: `<input name="password" value="${PASSWORD}">`, secrets: [PASSWORD] },
  {
    name: 'the user of curl',
    value: `curl -u ada:${PASSWORD} https://api.example.com`,
    secrets: [PASSWORD],
    kept: ['ada:', 'api.example.com'],
  },
  {
    name: 'the user of curl, as an argument',
    value: { args: ['-u', `ada:${PASSWORD}`] },
    secrets: [PASSWORD],
  },
  ...['sid', 'session'].flatMap((key): SecretCase[] => [
    { name: `${key}= in a text`, value: `GET /cart;${key}=${ALNUM} 200`, secrets: [ALNUM], kept: ['200'] },
    { name: `the field ${key} of a session`, value: { [key]: ALNUM, id: 7 }, secrets: [ALNUM] },
  ]),
  {
    name: 'in the line below',
    value: `db:\n  user: app\n  password:\n    ${PASSWORD}\n  port: 5432\n`,
    secrets: [PASSWORD],
    kept: ['user: app', 'port: 5432'],
  },
  {
    name: 'in a block of YAML',
    value: `password: |\n  ${PASSWORD}\nport: 5432`,
    secrets: [PASSWORD],
    kept: ['5432'],
  },
  { name: 'in quotes in the line below', value: `password =\n"${PASSWORD}"`, secrets: [PASSWORD] },
  ...[
    parts('$2b', '$10$', 'N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy'),
    parts('$argon2id', '$v=19$m=65536,t=3,p=4$', 'c29tZXNhbHQ$RdescudvJCsgt3ub+b7dWRWJTmaasdf'),
    parts('$6', '$saltsalt$', `${ALNUM}${ALNUM}${ALNUM}`.slice(0, 86)),
  ].map(
    (hash): SecretCase => ({
      name: `a hash of a password, ${hash.slice(0, 8)}`,
      value: `update of ${hash} failed`,
      secrets: [hash.slice(12)],
      kept: ['failed'],
    }),
  ),
  { name: 'a hash behind its name', value: `passwordHash: $2b$10$${PASSWORD}`, secrets: [PASSWORD] },
  {
    name: 'a signature of Stripe',
    value: `stripe-signature: t=1763283130,v1=${HEX32},v0=${HEX32}`,
    secrets: [HEX32],
  },
  // ── long texts ──
  {
    name: 'behind 64 KB of other text',
    value: `${'all is well. '.repeat(6_000)}password=${PASSWORD} and on`,
    secrets: [PASSWORD],
    kept: ['and on'],
  },
  {
    name: 'behind a megabyte of other text',
    value: `${'all is well. '.repeat(90_000)}Bearer ${ALNUM}`,
    secrets: [ALNUM],
  },
  {
    name: 'a value of 100 KB',
    value: `token=${ALNUM.repeat(3_000)} and on`,
    secrets: [ALNUM],
    kept: ['and on'],
  },
]
