// Talking to the server: a cookie and its forgery token, or a bearer token where cookies are refused.

import { about } from "./texts.js";

const base = `/api/campaigns/${encodeURIComponent(about.name)}`;
const BEARER = `qrowd:bearer:${about.name}`;
let forgery = "";
let bearer = "";
let ahead = 0; // the server's clock minus ours: ours may be wrong

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function serverTime() {
  return Date.now() + ahead;
}

async function ask(method, path, body) {
  const headers = {};
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  else if (forgery) headers["X-Qrowd-Token"] = forgery;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const reply = await fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
    signal: AbortSignal.timeout(30000),
  });
  const told = Date.parse(reply.headers.get("Date") ?? "");
  if (told && method === "POST") ahead = told - Date.now();
  if (reply.status === 204) return null;
  const found = await reply.json().catch(() => null);
  if (reply.ok && found !== null) return found;
  const error = found?.error ?? { code: "unreachable", message: reply.statusText };
  throw new Refused(reply.ok ? 502 : reply.status, error.code, error.message);
}

export function call(method, path, body) {
  return ask(method, `${base}/judging${path}`, body);
}

export function reading(key, position) {
  return ask("GET", `/judge/${encodeURIComponent(about.name)}/documents/${key}/${position}`);
}

function keepBearer(token) {
  bearer = token;
  try {
    sessionStorage.setItem(BEARER, token);
  } catch {
    /* then a reload needs the link again */
  }
}

// Come in by the link or the platform's parameters in the address.
export async function enter(parameters) {
  const body = parameters.link ? { link: parameters.link } : { parameters };
  const found = await ask("POST", `${base}/enter`, body);
  if (found.preview) return found;
  forgery = found.forgery_token;
  try {
    await call("GET", "/me");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    keepBearer(found.token);
  }
  return found;
}

// Come back to a page that was open before.
export async function comeBack() {
  try {
    bearer = sessionStorage.getItem(BEARER) ?? "";
  } catch {
    /* nothing is kept here */
  }
  const found = await call("GET", "/session");
  forgery = found.forgery_token;
}
