//! The Rust SDK: see run.py for what a client does and prints.
//!
//!     adder-client legacy|auto|modern URL
//!     adder-client legacy|auto|modern -- COMMAND [ARGUMENT ...]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock,
    ProgressNotificationParam, ProtocolVersion, ServerResult,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use tokio::sync::Notify;

type Error = Box<dyn std::error::Error>;

#[derive(Clone, Default)]
struct Handler {
    count: Arc<AtomicUsize>,
    some: Arc<Notify>,
}

impl ClientHandler for Handler {
    async fn on_progress(
        &self,
        _: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.some.notify_one();
    }
}

type Client = RunningService<RoleClient, Handler>;

struct Calls {
    client: Client,
    programs: Value,
}

impl Calls {
    async fn begin(&self, name: &str) -> Result<RequestHandle<RoleClient>, Error> {
        let arguments = json!({"code": self.programs[name], "timeout": 30});
        let params = CallToolRequestParams::new("run_python")
            .with_arguments(arguments.as_object().unwrap().clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        Ok(self
            .client
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await?)
    }

    async fn run(&self, name: &str) -> Result<CallToolResult, Error> {
        match self.begin(name).await?.await_response().await? {
            ServerResult::CallToolResult(result) => Ok(result),
            other => Err(format!("{name}: {other:?}").into()),
        }
    }

    /// Once it has reported something.
    async fn cancelled(&self) -> Result<&str, Error> {
        let handler = self.client.service();
        let before = handler.count.load(Ordering::SeqCst);
        let handle = self.begin("hang").await?;
        // The first may be what an earlier call left behind.
        while handler.count.load(Ordering::SeqCst) == before {
            handler.some.notified().await;
        }
        handle.cancel(Some("seen enough".into())).await?;
        Ok("cancelled")
    }
}

fn texts(result: &CallToolResult) -> String {
    result
        .content
        .iter()
        .filter_map(|c| match c {
            ContentBlock::Text(t) => Some(t.text.as_str()),
            _ => None,
        })
        .collect()
}

fn lifecycle(mode: &str) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match mode {
        "modern" => ClientLifecycleMode::Discover { preferred_versions },
        "auto" => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        _ => ClientLifecycleMode::Initialize,
    }
}

async fn connect(mode: &str, url: &str, command: &[String]) -> Result<Client, Error> {
    let handler = Handler::default();
    if url == "--" {
        let mut child = tokio::process::Command::new(&command[0]);
        child.args(&command[1..]);
        let transport = TokioChildProcess::new(child)?;
        return Ok(handler.serve_with_lifecycle(transport, lifecycle(mode)).await?);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    if let Ok(token) = std::env::var("TOKEN") {
        config = config.auth_header(token);
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    Ok(handler.serve_with_lifecycle(transport, lifecycle(mode)).await?)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let client = connect(&arguments[1], &arguments[2], &arguments[3..]).await?;
    let programs = serde_json::from_str(&std::env::var("PROGRAMS")?)?;
    let calls = Calls { client, programs };
    let count = calls.client.service().count.clone();

    let info = calls.client.peer_info().ok_or("no server")?;
    let server = info.server_info.as_ref().map(|i| i.name.clone());
    let tools: Vec<String> =
        calls.client.list_all_tools().await?.iter().map(|t| t.name.to_string()).collect();
    let progress = calls.run("progress").await?;
    let reports = count.load(Ordering::SeqCst);
    let error = calls.run("error").await?;
    let plot = calls.run("plot").await?;
    let image = plot
        .content
        .iter()
        .find_map(|c| match c {
            ContentBlock::Image(i) => Some(json!({"mime": i.mime_type, "data": i.data})),
            _ => None,
        })
        .ok_or("no plot")?;
    let cancel = calls.cancelled().await?.to_string();
    let after = texts(&calls.run("after").await?);
    let begun = Instant::now();
    calls.client.cancel().await?;
    let seen = json!({
        "errors": [],
        "server": server,
        "modern": info.protocol_version == ProtocolVersion::V_2026_07_28,
        "tools": tools,
        "progress": {"count": reports, "text": texts(&progress)},
        "error": {"isError": error.is_error, "text": texts(&error)},
        "plot": image,
        "cancel": cancel,
        "after": after,
        "closeMs": begun.elapsed().as_secs_f64() * 1000.0,
    });
    println!("{seen}");
    Ok(())
}
