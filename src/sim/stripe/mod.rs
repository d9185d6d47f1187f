//! As much of Stripe's API v1 as a careful client of payments and refunds uses (<https://docs.stripe.com/api>), one file
//! for each verb.

mod call;
mod cancel_intent;
pub mod charge;
pub mod charging;
mod confirm_intent;
mod create_intent;
mod create_refund;
mod error;
mod expand;
pub mod intent;
mod list;
mod params;
mod payment_methods;
pub mod refund;
mod retrieve;
mod search_intents;

use crate::sim::stripe::call::{get, post};
use crate::sim::stripe::cancel_intent::CancelIntent;
use crate::sim::stripe::confirm_intent::ConfirmIntent;
use crate::sim::stripe::create_intent::CreateIntent;
use crate::sim::stripe::create_refund::CreateRefund;
use crate::sim::stripe::error::ApiError;
use actix_web::{HttpRequest, web};

/// The routes behind `/v1`.
pub fn configure(config: &mut web::ServiceConfig) {
    config
        .route("/payment_intents", web::post().to(post::<CreateIntent>))
        .route("/payment_intents", web::get().to(|sim, request| get(sim, request, list::intents)))
        .route("/payment_intents/search", web::get().to(|sim, request| get(sim, request, search_intents::search)))
        .route("/payment_intents/{id}", web::get().to(|sim, request| get(sim, request, retrieve::intent)))
        .route("/payment_intents/{id}/confirm", web::post().to(post::<ConfirmIntent>))
        .route("/payment_intents/{id}/cancel", web::post().to(post::<CancelIntent>))
        .route("/refunds", web::post().to(post::<CreateRefund>))
        .route("/refunds", web::get().to(|sim, request| get(sim, request, list::refunds)))
        .route("/refunds/{id}", web::get().to(|sim, request| get(sim, request, retrieve::refund)))
        .route("/charges", web::get().to(|sim, request| get(sim, request, list::charges)))
        .route("/charges/{id}", web::get().to(|sim, request| get(sim, request, retrieve::charge)))
        .default_service(web::to(|request: HttpRequest| async move {
            let path = call::path(&request);
            let message = format!("Unrecognized request URL ({}: {path}).", request.method());
            ApiError::invalid(message).status(404).respond()
        }));
}
