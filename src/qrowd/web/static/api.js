// Talking to the server: a cookie and its forgery token, or a bearer token where it is refused.

import { about } from "./texts.js";

const BASE = `/api/campaigns/${encodeURIComponent(about.name)}`;
const BEARER_NAME = `qrowd:bearer:${about.name}`;
const PATIENCE = 30_000;
let forgeryToken = "";
let bearerToken = "";
let clockOffset = 0; // the server's clock minus ours: ours may be wrong

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function serverTime() {
  return Date.now() + clockOffset;
}

function requestOf(method, body) {
  const headers = {};
  if (bearerToken) headers.Authorization = `Bearer ${bearerToken}`;
  else if (forgeryToken) headers["X-Qrowd-Token"] = forgeryToken;
  const request = { method, headers, credentials: "same-origin" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  return request;
}

async function ask(method, path, body) {
  const signal = AbortSignal.timeout(PATIENCE);
  const reply = await fetch(path, { ...requestOf(method, body), signal });
  const serverDate = Date.parse(reply.headers.get("Date") ?? "");
  // What is read may come from a cache, with an old date.
  if (serverDate && method === "POST") clockOffset = serverDate - Date.now();
  if (reply.status === 204) return null;
  const content = await reply.json().catch(() => null);
  if (reply.ok && content !== null) return content;
  const error = content?.error ?? { code: "unreachable", message: reply.statusText };
  throw new Refused(reply.ok ? 502 : reply.status, error.code, error.message);
}

export function call(method, path, body) {
  return ask(method, `${BASE}/judging${path}`, body);
}

export function readDocument(setKey, position) {
  const campaign = encodeURIComponent(about.name);
  return ask("GET", `/judge/${campaign}/documents/${setKey}/${position}`);
}

// What a page of experts reads: they are signed in by a cookie.
export function read(path) {
  return ask("GET", path);
}

function keepBearer(token) {
  bearerToken = token;
  try {
    sessionStorage.setItem(BEARER_NAME, token);
  } catch {
    // then a reload needs the link again
  }
}

// Come in by the link or the platform's parameters in the address.
export async function enter(parameters) {
  const body = parameters.link ? { link: parameters.link } : { parameters };
  const session = await ask("POST", `${BASE}/enter`, body);
  if (session.preview) return session;
  forgeryToken = session.forgery_token;
  try {
    await call("GET", "/me"); // refused where the browser has not kept the cookie
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    keepBearer(session.token);
  }
  return session;
}

// Come back to a page that was open before.
export async function comeBack() {
  try {
    bearerToken = sessionStorage.getItem(BEARER_NAME) ?? "";
  } catch {
    // nothing is kept here
  }
  const session = await call("GET", "/session");
  forgeryToken = session.forgery_token;
}
