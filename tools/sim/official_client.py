"""Stripe's official client for Python against the simulated world (the program is the first argument)."""

import os
import queue
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import stripe

SECRET = "whsec_python"
notifications = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        notifications.put((body, self.headers["Stripe-Signature"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def start(program):
    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    command = [program, "sim", "--listen", "127.0.0.1:0", "--webhook-secret-env", "SIM_SECRET"]
    command += ["--webhook-url", f"http://127.0.0.1:{receiver.server_port}/hook"]
    sim = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "SIM_SECRET": SECRET})
    return sim, sim.stdout.readline().removeprefix("listening on ").strip()


def payment(method, **more):
    return {
        "amount": 1200,
        "currency": "jpy",
        "confirm": True,
        "payment_method": method,
        "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
        "metadata": {"ichido_order_id": "o-python"},
        **more,
    }


def refused(error, call):
    try:
        call()
    except error as caught:
        return caught
    raise AssertionError(f"no {error.__name__}")


def payments(client):
    intents = client.v1.payment_intents
    created = intents.create({"amount": 500, "currency": "eur", "automatic_payment_methods": {"enabled": True}})
    assert created.status == "requires_payment_method"
    confirm = {"payment_method": "pm_card_visa", "return_url": "http://127.0.0.1/", "expand": ["latest_charge"]}
    confirmed = intents.confirm(created.id, confirm)
    assert confirmed.status == "succeeded" and confirmed.latest_charge.paid
    assert intents.retrieve(created.id).amount_received == 500

    paid = intents.create(payment("pm_card_visa"), {"idempotency_key": "k1"})
    again = intents.create(payment("pm_card_visa"), {"idempotency_key": "k1"})
    assert again.id == paid.id and again.last_response.headers["Idempotent-Replayed"] == "true"
    other = lambda: intents.create(payment("pm_card_visa", amount=1), {"idempotency_key": "k1"})
    assert refused(stripe.IdempotencyError, other).http_status == 400

    assert [each.id for each in intents.list({"limit": 1}).auto_paging_iter()] == [paid.id, created.id]
    found = intents.search({"query": "metadata['ichido_order_id']:'o-python'"})
    assert [each.id for each in found.auto_paging_iter()] == [paid.id]

    opened = intents.create({"amount": 500, "currency": "eur"})
    assert intents.cancel(opened.id, {"cancellation_reason": "abandoned"}).status == "canceled"
    error = refused(stripe.InvalidRequestError, lambda: intents.cancel(paid.id))
    assert error.code == "payment_intent_unexpected_state"

    refund = client.v1.refunds.create({"payment_intent": paid.id, "amount": 200})
    assert refund.status == "succeeded" and client.v1.refunds.retrieve(refund.id).amount == 200
    assert client.v1.charges.retrieve(paid.latest_charge).amount_refunded == 200
    assert len(client.v1.refunds.list({"payment_intent": paid.id}).data) == 1


def failures(client):
    intents = client.v1.payment_intents
    error = refused(stripe.CardError, lambda: intents.create(payment("pm_card_chargeDeclined")))
    assert (error.http_status, error.code) == (402, "card_declined")
    assert error.error.decline_code == "generic_decline"
    assert error.error.payment_intent.status == "requires_payment_method"
    missing = refused(stripe.InvalidRequestError, lambda: intents.retrieve("pi_1"))
    assert missing.code == "resource_missing" and missing.request_id.startswith("req_")
    # The client's own retries, under one key, take the money once.
    for method in ["pm_sim_lost_answer", "pm_sim_lost_request", "pm_sim_error_500_then_ok", "pm_sim_conflict_409"]:
        assert intents.create(payment(method)).status == "succeeded", method
    refused(stripe.APIError, lambda: intents.create(payment("pm_sim_error_500")))


def webhooks(client):
    types = set()
    while not {"payment_intent.succeeded", "payment_intent.payment_failed", "charge.refunded"} <= types:
        body, signature = notifications.get(timeout=20)
        event = client.construct_event(body, signature, SECRET)
        types.add(event.type)
        assert event.data.object.id
    refused(stripe.SignatureVerificationError, lambda: client.construct_event(body + b" ", signature, SECRET))
    refused(stripe.SignatureVerificationError, lambda: client.construct_event(body, signature, "whsec_other"))


def main():
    sim, url = start(sys.argv[1])
    try:
        client = stripe.StripeClient("sk_test_python", base_addresses={"api": url + "/stripe"}, max_network_retries=2)
        payments(client)
        failures(client)
        webhooks(client)
        stranger = stripe.StripeClient("", base_addresses={"api": url + "/stripe"})
        refused(stripe.AuthenticationError, lambda: stranger.v1.payment_intents.retrieve("pi_1"))
    finally:
        sim.terminate()
    assert sim.wait(timeout=10) == 0
    print(f"stripe for Python {stripe.VERSION}: as expected")


main()
