// A real client: the official SDK over stdio.  Prints one JSON object of what
// it saw; test_sdk.py judges it.
//
//   node client.mjs COMMAND [ARGUMENT ...]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, ...args] = process.argv.slice(2);
const seen = { errors: [], stderr: '' };
const transport = new StdioClientTransport({ command, args, stderr: 'pipe' });
transport.stderr.on('data', (data) => (seen.stderr += data));
const client = new Client({ name: 'sdk-test', version: '1' },
	{ capabilities: {} });
client.onerror = (error) => seen.errors.push(String(error.message));

const run = (code, options, extra) => client.callTool(
	{ name: 'run_python', arguments: { code, ...extra } }, undefined, options);

let begun = performance.now();
await client.connect(transport);
seen.connectMs = performance.now() - begun;
seen.server = client.getServerVersion();
seen.capabilities = client.getServerCapabilities();
seen.instructions = client.getInstructions();
seen.ping = await client.ping();
seen.tools = (await client.listTools()).tools;
seen.resources = (await client.listResources()).resources;
seen.prompts = (await client.listPrompts()).prompts;
seen.level = await client.setLoggingLevel('info');

seen.hello = await run("print('hello from the SDK')");
seen.failed = await run('1 / 0');
seen.image = await run(
	"open('t.txt', 'w').write('x' * 10)\nprint(input())",
	undefined, { stdin: 'typed\n' });
seen.unknown = await client.callTool({ name: 'no_such', arguments: {} })
	.catch((error) => ({ code: error.code, message: error.message }));

// Progress: the call ends as soon as some has been seen.
const stop = new AbortController();
seen.progress = [];
seen.progressCall = await run(
	"import time\nfor i in range(200):\n" +
	"    print(i, flush=True)\n    time.sleep(0.1)\n",
	{
		signal: stop.signal,
		resetTimeoutOnProgress: true,
		timeout: 20000,
		onprogress: (p) => {
			seen.progress.push(p.progress);
			if (seen.progress.length === 2)
				stop.abort('seen enough');
		},
	}, { timeout: 30 }).catch((error) => ({ cancelled: String(error) }));

// The connection is still good, and several calls run at once.
seen.parallel = (await Promise.all([1, 2, 3, 4].map((n) =>
	run(`print(${n} ** 2)`)))).map((r) => r.content[0].text);
seen.pingAfter = await client.ping();

begun = performance.now();
await client.close();
seen.closeMs = performance.now() - begun;
console.log(JSON.stringify(seen));
