// The official clients over Streamable HTTP.  Prints one JSON object of what
// was seen; test_sdk_http.py judges it.
//
//   node http-client.mjs URL v1|legacy|auto|modern
//
// v1 is @modelcontextprotocol/sdk; the others are modes of
// @modelcontextprotocol/client.
const [url, mode] = process.argv.slice(2);
const token = process.env.TOKEN;
const options = { requestInit: {
	headers: token ? { Authorization: `Bearer ${token}` } : {} } };
const seen = { errors: [] };

async function makeV1() {
	const { Client } = await import(
		'@modelcontextprotocol/sdk/client/index.js');
	const { StreamableHTTPClientTransport } = await import(
		'@modelcontextprotocol/sdk/client/streamableHttp.js');
	const client = new Client({ name: 'sdk-test', version: '1' },
		{ capabilities: {} });
	return { client,
		transport: new StreamableHTTPClientTransport(new URL(url), options),
		call: (params, opts) => client.callTool(params, undefined, opts) };
}

async function makeV2() {
	const { Client, StreamableHTTPClientTransport } = await import(
		'@modelcontextprotocol/client');
	const client = new Client({ name: 'sdk-test', version: '1' },
		{ versionNegotiation: {
			mode: mode === 'modern' ? { pin: '2026-07-28' } : mode,
			probe: { timeoutMs: 10000 } } });
	return { client,
		transport: new StreamableHTTPClientTransport(new URL(url), options),
		call: (params, opts) => client.callTool(params, opts) };
}

const { client, transport, call } = await (mode === 'v1' ? makeV1() :
	makeV2());
const run = (code, opts, extra) => call(
	{ name: 'run_python', arguments: { code, ...extra } }, opts);

client.onerror = (error) => seen.errors.push(String(error.message));
await client.connect(transport);
seen.era = mode === 'v1' ? 'legacy' : client.getProtocolEra();
seen.session = transport.sessionId ?? null;
seen.server = client.getServerVersion();
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.prompts = (await client.listPrompts()).prompts;
seen.resources = (await client.listResources()).resources;
seen.hello = await run("print('hello')");
seen.failed = await run('1 / 0');
seen.unknown = await call({ name: 'no_such', arguments: {} })
	.catch((error) => ({ code: error.code }));
seen.parallel = (await Promise.all([1, 2, 3, 4].map((n) =>
	run(`print(${n} ** 2)`)))).map((r) => r.content[0].text);

const stop = new AbortController();
seen.progress = [];
seen.cancelled = await run(
	'import time\nfor i in range(200):\n' +
	'    print(i, flush=True)\n    time.sleep(0.1)\n', {
		signal: stop.signal,
		resetTimeoutOnProgress: true,
		timeout: 20000,
		onprogress: (p) => {
			seen.progress.push(p.progress);
			if (seen.progress.length === 2)
				stop.abort('seen enough');
		},
	}, { timeout: 30 }).then(() => 'finished', (error) => String(error));
seen.after = (await run('print(7)')).content[0].text;
if (seen.session !== null)
	await transport.terminateSession();
await client.close();
console.log(JSON.stringify(seen));
