// The TypeScript SDK: see run.py for what a client does and prints.
//
//   node client.mjs v1|legacy|auto|modern URL
//   node client.mjs v1|legacy|auto|modern -- COMMAND [ARGUMENT ...]
//
// v1 is @modelcontextprotocol/sdk; the others are modes of
// @modelcontextprotocol/client.
const [mode, url, ...command] = process.argv.slice(2);
const programs = JSON.parse(process.env.PROGRAMS);
const token = process.env.TOKEN;
const seen = { errors: [] };
const info = { name: 'clients-test', version: '1' };
const v1 = mode === 'v1';

async function transportOf() {
	if (url === '--') {
		const { StdioClientTransport } = await import(v1 ?
			'@modelcontextprotocol/sdk/client/stdio.js' :
			'@modelcontextprotocol/client/stdio');
		return new StdioClientTransport({ command: command[0],
			args: command.slice(1), stderr: 'ignore' });
	}
	const { StreamableHTTPClientTransport } = await import(v1 ?
		'@modelcontextprotocol/sdk/client/streamableHttp.js' :
		'@modelcontextprotocol/client');
	return new StreamableHTTPClientTransport(new URL(url), {
		requestInit: { headers: token ?
			{ Authorization: `Bearer ${token}` } : {} } });
}

async function clientOf() {
	if (v1) {
		const { Client } = await import(
			'@modelcontextprotocol/sdk/client/index.js');
		return new Client(info, { capabilities: {} });
	}
	const { Client } = await import('@modelcontextprotocol/client');
	return new Client(info, { versionNegotiation: {
		mode: mode === 'modern' ? { pin: '2026-07-28' } : mode,
		probe: { timeoutMs: 20000 } } });
}

const client = await clientOf();
const transport = await transportOf();
const run = (code, options) => {
	const params = { name: 'run_python', arguments: { code, timeout: 30 } };
	return v1 ? client.callTool(params, undefined, options) :
		client.callTool(params, options);
};
client.onerror = (error) => seen.errors.push(String(error.message));

await client.connect(transport);
seen.server = client.getServerVersion()?.name;
seen.modern = !v1 && client.getProtocolEra() === 'modern';
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
let count = 0;
const result = await run(programs.progress, { onprogress: () => count++ });
seen.progress = { count, text: result.content[0].text };
seen.error = await run(programs.error);
seen.error = { isError: seen.error.isError,
	text: seen.error.content.map((c) => c.text ?? '').join('\n') };
const plot = (await run(programs.plot)).content.find(
	(c) => c.type === 'image');
seen.plot = { mime: plot.mimeType, data: plot.data };
const stop = new AbortController();
seen.cancel = await run(programs.hang, {
	signal: stop.signal,
	onprogress: () => stop.abort('seen enough'),
}).then(() => 'finished', (error) => 'cancelled: ' + String(error));
seen.after = (await run(programs.after)).content[0].text;
const begun = performance.now();
if (transport.sessionId)
	await transport.terminateSession();
await client.close();
seen.closeMs = performance.now() - begun;
console.log(JSON.stringify(seen));
